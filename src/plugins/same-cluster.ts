/**
 * Whether a kubeconfig's credential may be sent to a profile's server. Who writes a profile chooses its server, and could
 * name a Secret of somebody else: a credential goes where its kubeconfig says, and nowhere else.
 */
import { X509Certificate } from 'node:crypto';

/** A cluster, in the names of kubeconfigs and of `spec.cluster`. */
export interface Cluster {
  readonly server?: string | null | undefined;
  readonly 'tls-server-name'?: string | null | undefined;
  readonly 'insecure-skip-tls-verify'?: boolean | null | undefined;
  readonly 'certificate-authority-data'?: string | null | undefined;
}

/** Why it may not, as the rest of a sentence about the kubeconfig, or `undefined`. */
export function mismatch(profile: Cluster, kubeconfig: Cluster): string | undefined {
  const [theirs, ours] = [addressOf(kubeconfig.server), addressOf(profile.server)];
  if (theirs === undefined) return 'names no server';
  if (theirs.text !== ours?.text) return `is for ${theirs.text}, and the profile's server is ${ours?.text ?? 'no URL'}`;
  const name = (cluster: Cluster) => (cluster['tls-server-name'] || theirs.host).toLowerCase();
  if (name(profile) !== name(kubeconfig)) {
    return `is for a server named ${name(kubeconfig)}, and the profile's tls-server-name is ${name(profile)}`;
  }
  if (kubeconfig['insecure-skip-tls-verify']) return undefined;
  if (profile['insecure-skip-tls-verify']) return 'verifies its server, and the profile has insecure-skip-tls-verify';
  const authority = kubeconfig['certificate-authority-data'];
  if (!authority) return undefined;
  const known = new Set(certificatesOf(authority));
  const trusted = certificatesOf(profile['certificate-authority-data'] ?? '');
  if (trusted.length > 0 && trusted.every((certificate) => known.has(certificate))) return undefined;
  return "trusts another authority than the profile's certificate-authority-data";
}

/** A URL in the one form that can be compared, without what does not say where it leads. */
function addressOf(server: string | null | undefined): { readonly text: string; readonly host: string } | undefined {
  const url = URL.parse(server ?? '');
  if (!url?.host) return undefined;
  return { text: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, host: url.hostname };
}

/** Each certificate's digest; of what is no certificate the text. */
function certificatesOf(data: string): readonly string[] {
  const text = Buffer.from(data, 'base64').toString('latin1');
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return data === '' ? [] : [data];
  return blocks.map((block) => {
    try {
      return new X509Certificate(block).fingerprint256;
    } catch {
      return block;
    }
  });
}

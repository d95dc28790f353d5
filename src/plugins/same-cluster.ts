/**
 * Whether a kubeconfig's credential may be sent to a profile's server. The author of a profile chooses its server, and could
 * name another person's Secret. So a credential goes only to the server of its kubeconfig.
 */
import { readCertificates } from '../access/pem.ts';
import { withoutLastSlashes } from '../access/url-pattern.ts';

/** A cluster, in the names of kubeconfigs and of `spec.cluster`. */
export interface Cluster {
  readonly server?: string | null | undefined;
  readonly 'tls-server-name'?: string | null | undefined;
  readonly 'insecure-skip-tls-verify'?: boolean | null | undefined;
  readonly 'certificate-authority-data'?: string | null | undefined;
  readonly 'proxy-url'?: string | null | undefined;
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
  // A text that is not a URL here may be one for a client that is written in Go.
  const proxy = ({ 'proxy-url': url }: Cluster) => addressOf(url)?.text ?? url;
  // A proxy sees which server is called, and can imitate it if the client does not verify certificates.
  if (profile['proxy-url'] && proxy(profile) !== proxy(kubeconfig)) {
    return `names ${kubeconfig['proxy-url'] ? 'another' : 'no'} proxy, and the profile has a proxy-url`;
  }
  if (kubeconfig['insecure-skip-tls-verify']) return undefined;
  if (profile['insecure-skip-tls-verify']) return 'verifies its server, and the profile has insecure-skip-tls-verify';
  const [known, trusted] = [authoritiesOf(kubeconfig), authoritiesOf(profile)];
  if (trusted === 'unreadable') return "cannot be compared with the profile's certificate-authority-data";
  // No authority means those of the system, on both sides.
  if (known === undefined && trusted === undefined) return undefined;
  if (known === undefined) return 'names no authority, and the profile has certificate-authority-data';
  if (known !== 'unreadable' && trusted && [...trusted].every((certificate) => known.has(certificate)))
    return undefined;
  return "trusts another authority than the profile's certificate-authority-data";
}

/** A URL in a form that can be compared, with only the parts that say where it leads. */
function addressOf(server: string | null | undefined): { readonly text: string; readonly host: string } | undefined {
  const url = URL.parse(server ?? '');
  if (!url?.host) return undefined;
  // `URL` has no origin for some schemes of proxies.
  return { text: `${url.protocol}//${url.host}${withoutLastSlashes(url.pathname)}`, host: url.hostname };
}

/** The digest of each certificate; `undefined` where there is none. */
function authoritiesOf(cluster: Cluster): ReadonlySet<string> | 'unreadable' | undefined {
  const data = cluster['certificate-authority-data'];
  if (!data) return undefined;
  const reading = readCertificates(Buffer.from(data, 'base64').toString('latin1'));
  if ('problem' in reading) return 'unreadable';
  return new Set(reading.certificates.map(({ fingerprint256 }) => fingerprint256));
}

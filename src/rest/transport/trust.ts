/** Which authorities TLS connections trust, and which client certificate they show. */
import tls, { createSecureContext, type SecureContext } from 'node:tls';
import type { KeyPair } from '../../exec/credential.ts';

/**
 * For connections to a cluster: its own authority where it names one, else every public root. Whatever is trusted is trusted as
 * it is, as in Go: an intermediate authority, or a server's own certificate, which then vouches for nobody but itself.
 */
export function clusterContext(certificateAuthority: string | undefined, keyPair: KeyPair | undefined): SecureContext {
  if (certificateAuthority === undefined && !keyPair) {
    publicContext ??= createSecureContext({ ...trusting(publicRoots()) });
    return publicContext;
  }
  return createSecureContext({
    ...trusting(certificateAuthority ?? publicRoots()),
    ...(keyPair ? { cert: keyPair.certificate, key: keyPair.key } : {}),
  });
}

/** For connections to an https proxy: every public root, and the cluster's authority as well. */
export function proxyContext(certificateAuthority: string | undefined): SecureContext {
  if (certificateAuthority === undefined) return clusterContext(undefined, undefined);
  return createSecureContext(trusting([...allPublicRoots(), certificateAuthority].join('\n')));
}

function trusting(ca: string | undefined): { readonly ca?: string; readonly allowPartialTrustChain: true } {
  return { ...(ca === undefined ? {} : { ca }), allowPartialTrustChain: true };
}

let publicContext: SecureContext | undefined;
let roots: { readonly node: ReadonlySet<string>; readonly system: readonly string[] } | undefined;

/** Node's own roots with `NODE_EXTRA_CA_CERTS`, and the system's, which Go takes. Reading them takes a while: once. */
function readRoots() {
  // Not imported by its name: an old Node would not come to the word that it is too old.
  roots ??= { node: new Set(tls.getCACertificates('default')), system: systemRoots() };
  return roots;
}

function systemRoots(): readonly string[] {
  try {
    return tls.getCACertificates('system');
  } catch {
    return [];
  }
}

function allPublicRoots(): readonly string[] {
  const { node, system } = readRoots();
  return [...new Set([...node, ...system])];
}

/** `undefined` where they are the ones that Node takes by itself, which costs it nothing. */
function publicRoots(): string | undefined {
  const { node, system } = readRoots();
  return system.every((certificate) => node.has(certificate)) ? undefined : allPublicRoots().join('\n');
}

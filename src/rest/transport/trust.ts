/** Which authorities TLS connections trust, from which file, and which client certificate they show. */
import { readFile } from 'node:fs/promises';
import tls, { createSecureContext, type SecureContext } from 'node:tls';
import { authorityProblem } from '../../access/certificates.ts';
import type { ResolvedCluster } from '../../access/cluster.ts';
import type { KeyPair } from '../../exec/credential.ts';
import { rereadMs } from '../../exec/static-credential-source.ts';
import { Cooldown } from '../../util/backoff.ts';
import { errnoOf } from '../../util/guards.ts';
import type { ClusterLog } from './cluster-log.ts';

type WithAuthority = Pick<ResolvedCluster, 'server' | 'certificateAuthorityData'>;

/**
 * For connections to a cluster: its own authority if it names one, else every public root. Whatever is trusted is trusted as
 * it is, as in Go: an intermediate authority, or a server's own certificate, which then vouches only for itself.
 */
export function clusterContext(cluster: WithAuthority, keyPair: KeyPair | undefined): () => SecureContext {
  if (cluster.certificateAuthorityData === undefined && !keyPair) return publicContext;
  return lazily(() =>
    createSecureContext({
      ...trusting(authorityOf(cluster) ?? publicRoots()),
      ...(keyPair ? { cert: keyPair.certificate, key: keyPair.key } : {}),
    }),
  );
}

/** For connections to an https proxy: every public root, and the cluster's authority as well. */
export function proxyContext(cluster: WithAuthority): () => SecureContext {
  if (cluster.certificateAuthorityData === undefined) return publicContext;
  return lazily(() => createSecureContext(trusting([...allPublicRoots(), authorityOf(cluster)].join('\n'))));
}

const publicContext = lazily(() => createSecureContext(trusting(publicRoots())));

/** Calls `make` at the first use alone: making a context takes longer than the rest of a dial. */
export function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function authorityOf({ certificateAuthorityData }: WithAuthority): string | undefined {
  return certificateAuthorityData && Buffer.from(certificateAuthorityData, 'base64').toString();
}

function trusting(ca: string | undefined): { readonly ca?: string; readonly allowPartialTrustChain: true } {
  return { ...(ca === undefined ? {} : { ca }), allowPartialTrustChain: true };
}

/** Node's own roots, with `NODE_EXTRA_CA_CERTS`. Not imported by its name: an old Node would not come to the word that it is too old. */
function nodeRoots(): Set<string> {
  return new Set(tls.getCACertificates('default'));
}

function systemRoots(): readonly string[] {
  try {
    return tls.getCACertificates('system');
  } catch {
    return [];
  }
}

/** Node's and the system's, which Go takes. */
function allPublicRoots(): ReadonlySet<string> {
  return new Set([...nodeRoots(), ...systemRoots()]);
}

/** `undefined` if they are the ones that Node takes by itself, which costs it nothing. */
function publicRoots(): string | undefined {
  const all = allPublicRoots();
  return all.size === nodeRoots().size ? undefined : [...all].join('\n');
}

/**
 * The file of a cluster's certificate authority. It is read again from time to time, as client-go does it, so that an authority can
 * be replaced while the process runs.
 */
export class AuthorityFile {
  readonly path: string;
  readonly #clock: () => number;
  /** Base64 of PEM. */
  #data: string;
  readonly #fresh = new Cooldown();

  /** `data` is what was read of it just now: base64 of PEM. */
  constructor(path: string, data: string, clock: () => number) {
    this.path = path;
    this.#data = data;
    this.#clock = clock;
    this.#fresh.set(clock(), rereadMs);
  }

  /** What was read last: base64 of PEM. After a minute the file is read again in the background. */
  current(log: ClusterLog): string {
    const now = this.#clock();
    if (this.#fresh.left(now) === 0) {
      this.#fresh.set(now, rereadMs);
      this.#read().then((problem) => {
        const message = `certificate-authority: ${problem}; what was read before serves on`;
        if (problem === undefined) log.cleared('authority', "the authority's file can be used again");
        else log.problem('authority', { message });
      });
    }
    return this.#data;
  }

  /** Returns the problem with the file, or `undefined`. Never rejects. */
  async #read(): Promise<string | undefined> {
    try {
      const data = (await readFile(this.path)).toString('base64');
      const problem = authorityProblem(data);
      if (problem !== undefined) return `${this.path} ${problem}`;
      // Equal ones stay one text, so that they are compared fast: at each request.
      if (data !== this.#data) this.#data = data;
      return undefined;
    } catch (error) {
      return `${this.path} cannot be read (${errnoOf(error)}): correct the path, or mount the file`;
    }
  }
}

/** The parts of a RestConfig, and what it exposes of them: a kubeconfig for kubectl, its credential. */
import { inspect } from 'node:util';
import { extensionNames } from '../access/extensions.ts';
import type { ImpersonationConfig } from '../access/impersonation.ts';
import type { StaticUser } from '../access/kubeconfig-user.ts';
import type { ConfigAccess, ResolvedExec } from '../access/resolve.ts';
import type { Credential } from '../exec/credential.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import type { Preview } from './request/previewed-writes.ts';
import type { Destination } from './transport/connection.ts';
import type { Connections } from './transport/connections.ts';

/** @internal A kubeconfig for kubectl, as JSON. */
export function exportKubeconfig(parts: RestConfigParts): string {
  const { name, user, namespace, access, destination, staticUser = {} } = parts;
  const { tokenFile, certificate, key } = staticUser;
  const { user: as, uid, groups, extra }: Partial<ImpersonationConfig> = destination.impersonation ?? {};
  const { config, ...cluster } = toExecCluster(access.cluster, access.exec?.config);
  const extensions = [{ name: extensionNames.config, extension: config }];
  const credential = {
    ...(access.exec ? { exec: execFields(access.exec) } : {}),
    tokenFile,
    'client-certificate': certificate && 'file' in certificate ? certificate.file : undefined,
    'client-key': key && 'file' in key ? key.file : undefined,
    as,
    'as-uid': uid,
    'as-groups': groups,
    'as-user-extra': extra,
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { ...cluster, ...(config === null ? {} : { extensions }) } }],
    users: [{ name: user, user: credential }],
    contexts: [{ name, context: { cluster: name, user, namespace } }],
    'current-context': name,
  });
}

/** Field by field, so that no new one gets into a file by itself. */
function execFields(exec: ResolvedExec) {
  const { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode } = exec;
  return { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode };
}

/** @internal What a RestConfig is made of. */
export interface RestConfigParts {
  /** Of its cluster and context. */
  readonly name: string;
  readonly user: string;
  readonly namespace?: string | undefined;
  readonly access: ConfigAccess;
  readonly destination: Destination;
  readonly connections: Connections;
  /** If the connections are this config's alone: stops the runs of its plugin. */
  readonly stop?: AbortController;
  /** Collects what its writes would have changed: none of them is done. */
  readonly preview?: Preview | undefined;
  /** Of a kubeconfig: its user. */
  readonly staticUser?: StaticUser;
}

/** A credential for a program with an HTTP client of its own. It prints as `[credential]`, and spreading it copies nothing. */
export class ConfigCredential {
  readonly #credential: Credential;
  /**
   * Says that a server refused this very credential, as a 401 to a request of the config does: it is refreshed, once, unless it has been
   * refreshed already or is in its cooldown. Never rejects; ask the config for its credential afterwards.
   */
  readonly reject: () => Promise<void>;

  /** @internal For `config.credential`. */
  constructor(credential: Credential, reject: () => Promise<void>) {
    this.#credential = credential;
    this.reject = reject;
  }

  /** The bearer token. */
  get token(): string | undefined {
    return this.#credential.token;
  }

  /** The value of an `Authorization` header: with the token, or with the user name and password of a kubeconfig. */
  get authorization(): string | undefined {
    return this.#credential.authorization;
  }

  /** The client certificate and its chain, PEM. */
  get clientCertificateData(): string | undefined {
    return this.#credential.keyPair?.certificate;
  }

  /** The key of the client certificate, PEM. */
  get clientKeyData(): string | undefined {
    return this.#credential.keyPair?.key;
  }

  /** When it expires, as RFC 3339 has it; absent for one that is valid until a server refuses it. */
  get expirationTimestamp(): string | undefined {
    const { expiresAt } = this.#credential;
    return expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
  }

  toJSON(): string {
    return '[credential]';
  }

  [inspect.custom](): string {
    return '[credential]';
  }
}

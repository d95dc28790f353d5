/** A config for another copy of client-node (0.20 to 0.22, 1.x, 2.x), through its public methods only. */
import type { Agent } from 'node:http';
import { checkArgument } from '../errors/index.ts';
import { RestConfig } from './rest-config.ts';

/** What every version's `KubeConfig` has. */
export interface AnyKubeConfig {
  loadFromOptions(options: unknown): void;
  getCurrentContext(): string;
  getCurrentUser(): unknown;
  applyToHTTPSOptions(options: never): Promise<void>;
}

/** Of a request's context in 1.x and 2.x. */
interface AnyRequestContext {
  setAgent?(agent: Agent): void;
  setDispatcher?: unknown;
}

interface AnyRequestOptions {
  readonly headers?: Readonly<Record<string, number | string | readonly string[] | undefined>>;
  readonly method?: string;
  readonly timeout?: number;
}

/**
 * Gives the `KubeConfig` of the version of client-node that a program has: its generated clients, `Watch`, informers, `Log`, `Exec` and
 * the rest send their requests through `config`. It is frozen, and good until `config` is closed.
 *
 * @throws {ConfigurationError} `OPTION_INVALID`
 * @example
 * import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'; // 1.4
 * const core = toKubeConfig(config, KubeConfig).makeApiClient(CoreV1Api);
 */
export function toKubeConfig<T extends AnyKubeConfig>(config: RestConfig, KubeConfig: new () => T): T {
  const isConfig = (value: unknown) => value instanceof RestConfig;
  checkArgument('toKubeConfig', 'config', config, isConfig, 'a RestConfig, as getConfig returns it');
  const kubeConfig = new KubeConfig();
  const { clusters, users, contexts, currentContext } = config;
  kubeConfig.loadFromOptions({ clusters, users, contexts, currentContext });
  return Object.freeze(Object.assign(kubeConfig, methods(config)));
}

/** The methods of client-node that use credentials. */
function methods(config: RestConfig) {
  return {
    getCurrentUser: () => config.getCurrentUser(),
    getUser: (name: string) => config.getUser(name),
    exportConfig: () => config.exportConfig(),

    /** For WebSockets, in each version, and for programs that read the credential from it, as client-node has it there. */
    async applyToHTTPSOptions(options: Parameters<RestConfig['applyToHTTPSOptions']>[0]): Promise<void> {
      await config.applyToHTTPSOptions(options);
      const { certificateAuthorityData: ca, tlsServerName, insecureSkipTlsVerify } = config.access.cluster;
      const { clientCertificateData: cert, clientKeyData: key } = await config.credential();
      Object.assign(options, {
        ...(ca === undefined ? {} : { ca: Buffer.from(ca, 'base64') }),
        ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
        ...(insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
        ...(cert === undefined ? {} : { cert, key }),
      });
    },

    /** For generated clients of 1.x and 2.x. */
    async applySecurityAuthentication(context: AnyRequestContext): Promise<void> {
      if ('setDispatcher' in context)
        await config.applySecurityAuthentication(context as never); // a copy of 2.x
      else context.setAgent?.(config.agent);
    },

    /** For everything else of 1.x, which uses node-fetch. */
    async applyToFetchOptions({ headers: given = {}, method, timeout }: AnyRequestOptions): Promise<object> {
      const headers = new Headers();
      for (const [name, values] of Object.entries(given))
        for (const value of [values ?? []].flat()) headers.append(name, String(value));
      return { agent: config.agent, headers, method, timeout };
    },

    /** For everything of 0.2x but WebSockets: the package request, which has its own proxy and takes no agent where `pool` is false. */
    async applyToRequest(options: object): Promise<void> {
      Object.assign(options, { agent: config.agent, pool: undefined, proxy: null });
    },
  };
}

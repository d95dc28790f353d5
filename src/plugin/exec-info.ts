/** What a plugin is asked in `KUBERNETES_EXEC_INFO`, and the answer of a test. */
import type { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import * as z from 'zod/mini'; // a quarter of zod's own time to load, and a plugin is loaded again and again
import { type ApiVersion, apiVersions } from '../access/provider.ts';
import { ExecInfoError } from '../errors/index.ts';

/** The cluster that needs the credential, with the field names of the wire. It is not trusted: check what you use. */
export interface ExecCredentialCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string | null | undefined;
  readonly 'insecure-skip-tls-verify'?: boolean | null | undefined;
  /** PEM in base64. */
  readonly 'certificate-authority-data'?: string | null | undefined;
  readonly 'proxy-url'?: string | null | undefined;
  readonly 'disable-compression'?: boolean | null | undefined;
  /** The profile's extension `client.authentication.k8s.io/exec`: any JSON. */
  readonly config?: unknown;
}

/** The input of a plugin (KEP-541), in the version in which the client sent it. */
export interface ExecCredential {
  readonly apiVersion: ApiVersion;
  readonly kind: 'ExecCredential';
  readonly spec: {
    /** Whether the plugin may prompt on the terminal. */
    readonly interactive: boolean;
    /** The cluster that needs the credential, if `provideClusterInfo` is true. */
    readonly cluster?: ExecCredentialCluster | null | undefined;
  };
}

/** What `loadExecCredential` returns: the request of the client, and a config for its cluster. */
export interface LoadedExecCredential {
  readonly credential: ExecCredential;
  /**
   * Returns a client-node config for that cluster, without a user; `undefined` without cluster information. The first call loads
   * client-node, which takes twenty times as long as the rest of a plugin's start.
   */
  readonly loadKubeConfig: () => Promise<KubeConfig | undefined>;
}

const text = z.nullish(z.string('must be text'));
const flag = z.nullish(z.boolean('must be true or false'));
const clusterSchema = z.looseObject(
  {
    server: z.pipe(
      text,
      z.transform((server) => server ?? ''),
    ),
    'tls-server-name': text,
    'insecure-skip-tls-verify': flag,
    'certificate-authority-data': z.nullish(z.base64('must be base64')),
    'proxy-url': text,
    'disable-compression': flag,
  },
  'must be an object',
);
const execInfoSchema = z.looseObject(
  {
    kind: z.literal('ExecCredential', 'must be ExecCredential'),
    apiVersion: z.enum(apiVersions, `must be one of ${apiVersions.join(', ')}`),
    spec: z.pipe(
      z.nullish(z.looseObject({ interactive: flag, cluster: z.nullish(clusterSchema) }, 'must be an object')),
      z.transform((spec) => ({ ...spec, interactive: spec?.interactive ?? false })),
    ),
  },
  'must be an object',
);

async function toKubeConfig({ spec: { cluster } }: ExecCredential): Promise<KubeConfig | undefined> {
  if (!cluster) return undefined;
  const { KubeConfig } = await import('@kubernetes/client-node');
  const kubeConfig = new KubeConfig();
  const name = 'cluster';
  kubeConfig.loadFromOptions({
    clusters: [
      {
        name,
        server: cluster.server,
        caData: cluster['certificate-authority-data'] ?? undefined,
        skipTLSVerify: cluster['insecure-skip-tls-verify'] ?? false,
        tlsServerName: cluster['tls-server-name'] ?? undefined,
        proxyUrl: cluster['proxy-url'] ?? undefined,
      },
    ],
    users: [{ name: 'none' }],
    contexts: [{ name, cluster: name, user: 'none' }],
    currentContext: name,
  });
  return kubeConfig;
}

/**
 * Reads the text of an ExecCredential, JSON or YAML.
 * @throws {ExecInfoError}
 */
export function loadExecCredential(data: string): LoadedExecCredential {
  const parsed = execInfoSchema.safeParse(parseText(data));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') || 'the text';
    throw new ExecInfoError('EXEC_INFO_INVALID', `KUBERNETES_EXEC_INFO: ${field}: ${issue?.message ?? 'is invalid'}`);
  }
  const credential: ExecCredential = parsed.data;
  return { credential, loadKubeConfig: () => toKubeConfig(credential) };
}

/**
 * Reads the environment variable `KUBERNETES_EXEC_INFO`.
 * @throws {ExecInfoError}
 */
export function loadExecCredentialFromEnv(): LoadedExecCredential {
  const data = process.env.KUBERNETES_EXEC_INFO;
  if (data) return loadExecCredential(data);
  const advice = 'this program is a credential plugin, and is run by a Kubernetes client';
  throw new ExecInfoError('EXEC_INFO_MISSING', `KUBERNETES_EXEC_INFO is not set or empty: ${advice}`);
}

function parseText(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // Clients send JSON; people test plugins with YAML.
  }
  try {
    return parse(data, { logLevel: 'error' });
  } catch {
    throw new ExecInfoError('EXEC_INFO_INVALID', 'KUBERNETES_EXEC_INFO is neither JSON nor YAML');
  }
}

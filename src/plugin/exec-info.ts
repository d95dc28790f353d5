import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { z } from 'zod';
import { type ApiVersion, apiVersions } from '../access/provider.ts';
import { ExecInfoError } from '../errors.ts';

const clusterSchema = z.looseObject({
  server: z.string().default(''),
  'tls-server-name': z.string().nullish(),
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'certificate-authority-data': z.base64({ error: 'must be base64' }).nullish(),
  'proxy-url': z.string().nullish(),
  'disable-compression': z.boolean().nullish(),
  config: z.unknown().optional(),
});

const execInfoSchema = z.looseObject({
  kind: z.literal('ExecCredential', { error: 'must be ExecCredential' }),
  apiVersion: z.enum(apiVersions, { error: `must be one of ${apiVersions.join(', ')}` }),
  spec: z
    .looseObject({
      interactive: z.boolean().default(false),
      cluster: clusterSchema.nullish(),
      response: z.looseObject({ code: z.number(), header: z.record(z.string(), z.array(z.string())) }).nullish(),
    })
    .nullish()
    .transform((spec) => spec ?? { interactive: false }),
});

/** What a plugin was told (KEP-541), in the version in which it was told it. */
export interface ExecCredential {
  readonly apiVersion: ApiVersion;
  readonly kind: 'ExecCredential';
  readonly spec: {
    /** Whether the plugin may ask on the terminal. */
    readonly interactive: boolean;
    /** The cluster that the credential is for, where `provideClusterInfo` is true. */
    readonly cluster?: z.output<typeof clusterSchema> | null | undefined;
    /** v1alpha1 only: the response that made a new credential necessary. */
    readonly response?:
      | { readonly code: number; readonly header: Readonly<Record<string, readonly string[]>> }
      | null
      | undefined;
  };
}

export interface LoadedExecCredential {
  readonly credential: ExecCredential;
  /** A config for that cluster, without any user; `undefined` where there is no cluster information. */
  readonly kubeConfig: KubeConfig | undefined;
}

/** Reads the text of an ExecCredential, JSON or YAML. Throws an `ExecInfoError`. */
export function loadExecCredential(data: string): LoadedExecCredential {
  const parsed = execInfoSchema.safeParse(parseText(data));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') || 'the text';
    throw new ExecInfoError('EXEC_INFO_INVALID', `KUBERNETES_EXEC_INFO: ${field}: ${issue?.message ?? 'is invalid'}`);
  }
  const credential: ExecCredential = parsed.data;
  return { credential, kubeConfig: toKubeConfig(credential) };
}

/** Reads the environment variable `KUBERNETES_EXEC_INFO`. Throws an `ExecInfoError`. */
export function loadExecCredentialFromEnv(): LoadedExecCredential {
  const data = process.env.KUBERNETES_EXEC_INFO;
  if (!data) {
    const advice = 'this program is a credential plugin, and is run by a Kubernetes client';
    throw new ExecInfoError('EXEC_INFO_MISSING', `KUBERNETES_EXEC_INFO is not set or empty: ${advice}`);
  }
  return loadExecCredential(data);
}

function parseText(data: string): unknown {
  try {
    return parse(data, { logLevel: 'error' });
  } catch {
    throw new ExecInfoError('EXEC_INFO_INVALID', 'KUBERNETES_EXEC_INFO is neither JSON nor YAML');
  }
}

function toKubeConfig({ spec: { cluster } }: ExecCredential): KubeConfig | undefined {
  if (!cluster) return undefined;
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

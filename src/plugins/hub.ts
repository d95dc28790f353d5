/** The cluster that a plugin reads Secrets from: the one it runs in, or the kubeconfig's. */
import { existsSync, readFileSync } from 'node:fs';
import { ApiException, CoreV1Api, KubeConfig } from '@kubernetes/client-node';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface Hub {
  readonly core: CoreV1Api;
  /** The kubeconfig context's namespace, or that of the pod, or `default`. */
  readonly namespace: string;
}

export function openHub(): Hub {
  const config = new KubeConfig();
  const inCluster = process.env.KUBERNETES_SERVICE_HOST !== undefined && existsSync(`${serviceAccountFolder}/token`);
  if (inCluster) config.loadFromCluster();
  else config.loadFromDefault();
  const context = config.getContextObject(config.currentContext)?.namespace;
  const own = inCluster ? readNamespace() : undefined;
  return { core: config.makeApiClient(CoreV1Api), namespace: context || own || 'default' };
}

function readNamespace(): string | undefined {
  const path = `${serviceAccountFolder}/namespace`;
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

/** One value of a Secret. The errors name it, and say what to do. */
export async function readSecret({ core }: Hub, namespace: string, name: string, key: string): Promise<string> {
  const where = `secret ${namespace}/${name}`;
  const { data } = await core.readNamespacedSecret({ namespace, name }).catch((error: unknown) => {
    throw new Error(`failed to get ${where}: ${reasonOf(error)}`);
  });
  const value = data?.[key];
  if (!value) throw new Error(`${where} missing "${key}" key: it has ${Object.keys(data ?? {}).join(', ') || 'none'}`);
  return Buffer.from(value, 'base64').toString('utf8');
}

/** The server's own words, without the headers that client-node puts beside them. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiException) {
    const { code } = error;
    if (code === 404) return 'it does not exist';
    if (code === 403) return 'RBAC does not allow it: the plugin needs "get" on it';
    return `the server answered ${code}`;
  }
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? cause.message : 'the cluster cannot be reached';
}

/** A text field of the exec extension, which somebody else wrote. */
export function textField(config: unknown, field: string): string | undefined {
  const value: unknown = typeof config === 'object' && config !== null ? Reflect.get(config, field) : undefined;
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new Error(`invalid ExecCredential.Spec.Cluster.Config: ${field} must be text`);
}

/** What the profile's exec extension says; without it there is nothing to read. */
export function clusterConfig(spec: { readonly cluster?: { readonly config?: unknown } | null | undefined }): unknown {
  const config = spec.cluster?.config;
  if (config !== undefined && config !== null) return config;
  const advice = 'set provideClusterInfo: true, and the extension client.authentication.k8s.io/exec in the profile';
  throw new Error(`missing ExecCredential.Spec.Cluster.Config: ${advice}`);
}

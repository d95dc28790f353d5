/** The cluster that a plugin reads Secrets from: the one it runs in, or the kubeconfig's. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiException, CoreV1Api, KubeConfig, type V1ObjectMeta, type V1Secret } from '@kubernetes/client-node';
import { codeFieldOf } from '../util/errno.ts';
import { homeKubeconfig } from '../util/home.ts';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface Hub {
  readonly core: CoreV1Api;
  readonly server: string;
  /** The kubeconfig context's namespace, or that of the pod, or `default`. */
  readonly namespace: string;
}

/**
 * The files of the service account show that this is a pod. If the controller gives its plugins a clean environment,
 * `KUBERNETES_SERVICE_HOST` is missing, and the cluster's DNS name is used. `root` is `/` except in tests.
 */
export function openHub(root = ''): Hub {
  const { KUBECONFIG: path, KUBERNETES_SERVICE_HOST: host } = process.env;
  const folder = join(root, serviceAccountFolder);
  const config = new KubeConfig();
  const inPod = existsSync(join(folder, 'token')) && (host !== undefined || !path);
  if (inPod) {
    process.env.KUBERNETES_SERVICE_HOST ??= 'kubernetes.default.svc';
    process.env.KUBERNETES_SERVICE_PORT ??= '443';
    config.loadFromCluster(root);
  } else if (path || existsSync(homeKubeconfig() ?? '')) {
    loadKubeconfig(config, path);
  } else {
    throw new Error(
      `there is no cluster to read from: neither a service account in ${folder}, nor KUBECONFIG, nor ~/.kube/config is there; ` +
        'set KUBECONFIG among execConfig.env, or let the pod mount its token (automountServiceAccountToken)',
    );
  }
  const context = config.getContextObject(config.currentContext)?.namespace;
  const own = inPod ? readNamespace(folder) : undefined;
  const server = config.getCurrentCluster()?.server ?? 'the cluster';
  return { core: config.makeApiClient(CoreV1Api), server, namespace: context?.trim() || own || 'default' };
}

function loadKubeconfig(config: KubeConfig, path: string | undefined): void {
  try {
    config.loadFromDefault();
  } catch (error) {
    // A parser's message may quote what it could not read.
    const why = error instanceof Error && 'code' in error ? `cannot be read (${error.code})` : 'is no kubeconfig';
    const file = path ? `KUBECONFIG ${path}` : '~/.kube/config';
    throw new Error(`${file} ${why}: correct KUBECONFIG among execConfig.env, or let the pod mount its token`);
  }
}

function readNamespace(folder: string): string | undefined {
  const path = join(folder, 'namespace');
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

/** A Secret, and how to read one of its values. Errors name the Secret and say what to do. */
export interface Secret {
  /** For messages: `secret fleet/spoke-1`. */
  readonly where: string;
  readonly type: string;
  readonly metadata: V1ObjectMeta | undefined;
  read(key: string): string;
}

export async function getSecret(hub: Hub, namespace: string, name: string): Promise<Secret> {
  const where = `secret ${namespace}/${name}`;
  const { data, type, metadata } = await hub.core
    .readNamespacedSecret({ namespace, name })
    .catch((error: unknown): V1Secret => {
      throw new Error(`failed to get ${where}: ${reasonOf(error, hub)}`);
    });
  const read = (key: string) => {
    const value = data?.[key];
    if (value) return Buffer.from(value, 'base64').toString('utf8');
    throw new Error(`${where} missing "${key}" key: it has ${Object.keys(data ?? {}).join(', ') || 'none'}`);
  };
  return { where, type: type ?? '', metadata, read };
}

/** The server's message, without the headers that client-node adds, or why there is none. */
export function reasonOf(error: unknown, { server }: Hub): string {
  if (error instanceof ApiException) {
    const { code } = error;
    if (code === 404) return 'it does not exist';
    if (code === 403) return 'RBAC does not allow it: the plugin needs "get" on it';
    return `the server answered ${code}`;
  }
  const { code = 'no reason given' } = codeFieldOf(error);
  return `${server} cannot be reached (${code}); the plugin reads the cluster that it runs in, or KUBECONFIG`;
}

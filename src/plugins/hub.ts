/** The cluster that a plugin reads Secrets from: the one it runs in, or the kubeconfig's. Does without client-node, which takes a second to load. */
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { homeKubeconfig } from '../util/folders.ts';
import { codeFieldOf, tryParseJson } from '../util/guards.ts';
import { bracket } from '../util/hosts.ts';
import { answerTo } from './response.ts';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Milliseconds for one answer. */
const answerMs = 30_000;
/** The longest answer in bytes: etcd keeps no larger object. */
const maxAnswerBytes = 8 * 1024 * 1024;

export interface HubClient {
  readonly server: string;
  /** The kubeconfig context's namespace, or that of the pod, or `default`. */
  readonly namespace: string;
  /** A GET, or a POST of a body. `path` stands below `/api/v1/namespaces/`. Rejects if no answer comes. */
  readonly send: (path: string, post?: object) => Promise<{ readonly statusCode: number; readonly text: string }>;
}

/** The files of the service account show a pod: a clean environment has no `KUBERNETES_SERVICE_HOST`. `root` is `/` except in tests. */
export async function connectHub(root = ''): Promise<HubClient> {
  const { KUBECONFIG: path, KUBERNETES_SERVICE_HOST: host } = process.env;
  const folder = join(root, serviceAccountFolder);
  if (existsSync(join(folder, 'token')) && (host !== undefined || !path)) return hubOfPod(folder, host);
  if (path || existsSync(homeKubeconfig() ?? '')) {
    const { hubOfKubeconfig } = await import('./kubeconfig-hub.ts');
    return hubOfKubeconfig(answerMs, maxAnswerBytes);
  }
  throw new Error(
    `there is no cluster to read from: no service account in ${folder}, no KUBECONFIG and no ~/.kube/config; ` +
      'set KUBECONFIG among execConfig.env, or let the pod mount its token (automountServiceAccountToken)',
  );
}

/** Uses Node's own HTTPS: a pod needs no proxies, plugins or client certificates, and undici would double the start time. */
function hubOfPod(folder: string, host = 'kubernetes.default.svc'): HubClient {
  const server = `https://${bracket(host)}:${process.env.KUBERNETES_SERVICE_PORT ?? '443'}`;
  const read = (name: string) => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  };
  const send: HubClient['send'] = async (path, post) => {
    const signal = AbortSignal.timeout(answerMs);
    const options = {
      method: post ? 'POST' : 'GET',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${read('token')}`,
        'content-type': 'application/json',
      },
      ca: read('ca.crt'),
      signal,
    };
    const call = request(`${server}/api/v1/namespaces/${path}`, options).end(post && JSON.stringify(post));
    return answerTo(call, signal, maxAnswerBytes);
  };
  return { server, namespace: read('namespace') || 'default', send };
}

const texts = z.nullish(z.record(z.string(), z.string()));
/** Of any object, as far as the plugins read it. */
export const metadataShape = { metadata: z.nullish(z.object({ labels: texts })) };
const secretSchema = z.object({ ...metadataShape, type: z.nullish(z.string()), data: texts });

export type Secret = Awaited<ReturnType<typeof getSecret>>;

/** A Secret, how messages name it, and how to read one of its values. Errors name the Secret and say what to do. */
export async function getSecret(hub: HubClient, namespace: string, name: string) {
  const where = `secret ${namespace}/${name}`;
  const { data, type, metadata } = await askHub(hub, `get ${where}`, secretSchema, `${namespace}/secrets/${name}`);
  const read = (key: string): string => {
    const value = data?.[key];
    if (value) return Buffer.from(value, 'base64').toString('utf8');
    throw new Error(`${where} missing "${key}" key: it has ${Object.keys(data ?? {}).join(', ') || 'none'}`);
  };
  return { where, type, metadata, read };
}

/** The object that an API server answers with. `what` is what failed, if it fails: `get secret fleet/spoke-1`. */
export async function askHub<T extends z.ZodMiniType>(
  hub: HubClient,
  what: string,
  schema: T,
  path: string,
  post?: object,
): Promise<z.output<T>> {
  const fail = (reason: string): never => {
    throw new Error(`failed to ${what}: ${reason}`);
  };
  const { statusCode, text } = await hub.send(path, post).catch((error) => fail(connectFailure(error, hub)));
  if (statusCode !== 200 && statusCode !== 201) return fail(reasonOfStatus(statusCode, post));
  const { success, data } = schema.safeParse(tryParseJson(text));
  return success ? data : fail(`${hub.server} does not answer as a Kubernetes API server does`);
}

function reasonOfStatus(statusCode: number, post: object | undefined): string {
  if (statusCode === 404) return 'it does not exist';
  // Only a TokenRequest is posted.
  const needed = post ? '"create" on serviceaccounts/token' : '"get" on it';
  if (statusCode === 403) return `RBAC does not allow it: the plugin needs ${needed}`;
  return `the server answered ${statusCode}`;
}

/** Why there is no answer. */
function connectFailure(error: unknown, { server }: HubClient): string {
  // What reads kubeconfigs is bundled apart, and has a class of its own for the errors of this package.
  const { retryable, message } = Object(error);
  if (typeof retryable === 'boolean') return message;
  const { code = String(error) } = codeFieldOf(error);
  return `${server} cannot be reached (${code}); the plugin reads the cluster that it runs in, or KUBECONFIG`;
}

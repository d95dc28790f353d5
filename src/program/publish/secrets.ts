/** What publish writes beside the profiles: Secrets on the hub, and service accounts on the clusters. */
import { readFileSync } from 'node:fs';
import {
  type Api,
  type ApiClient,
  apiOf,
  claimsOfJwt,
  errnoOf,
  type KubeconfigAccess,
  type PemSource,
  type StaticUser,
  statusOf,
  textAt,
  timeOfClaim,
  tryParseJson,
  withContext,
} from '../../diagnose/index.ts';
import { kubeconfigCluster } from '../kubeconfig/entries.ts';
import type { ServiceAccount, Settings, SourceCluster } from './source.ts';

/** KEP-4322's label of profiles; the provider of these Secrets asks for it too. */
export const managerLabel = 'x-k8s.io/cluster-manager';
export const secretKey = 'kubeconfig';

/** The Secrets of one cluster manager in the namespace of `--write-secrets`, if there is one. */
export class Secrets {
  readonly #api: Api;
  readonly #settings: Settings;
  /** Kubeconfigs by the name of the Secret. */
  readonly #written = new Map<string, { readonly kubeconfig: string; readonly uid: string }>();

  /** `found` are those with the label of this manager. */
  constructor(api: Api, settings: Settings, found: readonly unknown[]) {
    this.#api = api;
    this.#settings = settings;
    for (const item of found) {
      const [name, uid] = [textAt(item, 'metadata', 'name'), textAt(item, 'metadata', 'uid')];
      if (name === undefined || uid === undefined) continue;
      const kubeconfig = Buffer.from(textAt(item, 'data', secretKey) ?? '', 'base64').toString('utf8');
      this.#written.set(name, { kubeconfig, uid });
    }
  }

  /** Writes the Secret of a cluster that needs one, unless it is as it should be. `isRejected`: the cluster no longer accepts its token. */
  async write(source: SourceCluster, signal: AbortSignal, { isRejected = false } = {}): Promise<void> {
    const { name } = source;
    const { secretsNamespace: namespace, clusterManager } = this.#settings;
    if (source.secret !== 'own') return;
    const before = this.#written.get(name);
    const kubeconfig = await this.#kubeconfigOf(source, isRejected ? undefined : before?.kubeconfig, signal);
    if (kubeconfig === before?.kubeconfig) return;
    const client = this.#api({ apiVersion: 'v1', kind: 'Secret', namespace, fieldManager: clusterManager });
    const object = {
      metadata: { name, labels: { [managerLabel]: clusterManager } },
      type: 'Opaque',
      data: { [secretKey]: Buffer.from(kubeconfig).toString('base64') },
    };
    const written = before
      ? await client.apply(object, { force: true, signal })
      : await client.create(object, { signal }).catch((error: unknown) => {
          if (statusOf(error) !== 409) throw error;
          const message = `secret ${namespace}/${name} exists, and is not ${clusterManager}'s (label ${managerLabel})`;
          throw new Error(`${message}: choose another --write-secrets namespace or --name-pattern`);
        });
    this.#written.set(name, { kubeconfig, uid: written.metadata.uid });
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    const before = this.#written.get(name);
    if (!before) return;
    const { secretsNamespace: namespace } = this.#settings;
    const client = this.#api({ apiVersion: 'v1', kind: 'Secret', namespace });
    await client.delete(name, { preconditions: { uid: before.uid }, signal }).catch((error: unknown) => {
      if (statusOf(error) !== 404) throw error;
    });
  }

  async #kubeconfigOf(source: SourceCluster, before: string | undefined, signal: AbortSignal): Promise<string> {
    const { serviceAccount, clusterManager } = this.#settings;
    if (!serviceAccount) return kubeconfigText(source, source.name, fieldsOf(source.access.staticUser));
    const { namespace, name, clusterRole } = serviceAccount;
    const userName = `${namespace}:${name}, ClusterRole ${clusterRole}`;
    const known = readWritten(before ?? '');
    // For another server, or with other rights, it is not this one's.
    const isSame = known.userName === userName && known.server === source.cluster.server;
    const held = (isSame && known.token) || '';
    const create = () => createServiceAccount(source.access, serviceAccount, clusterManager, signal);
    // Of a Secret, which others may have changed, the token alone is used.
    const byToken = { ...source.access, exec: undefined, staticUser: { token: held }, impersonation: undefined };
    const renew = () => withContext(byToken, (client) => mint(client, serviceAccount, signal)).catch(create);
    const state = stateOfToken(held, serviceAccount, Date.now());
    const token = state === 'over' ? create() : state === 'due' ? renew() : held;
    return kubeconfigText(source, userName, { token: await token });
  }
}

/** What is there of what is written here; nothing if it is not JSON. */
function readWritten(text: string) {
  const content = tryParseJson(text);
  return {
    userName: textAt(content, 'users', 0, 'name'),
    token: textAt(content, 'users', 0, 'user', 'token'),
    server: textAt(content, 'clusters', 0, 'cluster', 'server'),
  };
}

/** A user of a kubeconfig. Reads its files; as in client-go, a token's file beats the token. */
function fieldsOf({ token, tokenFile, certificate, key }: StaticUser): Readonly<Record<string, string>> {
  const shown = tokenFile === undefined ? token : read(tokenFile).trim();
  const pem = (source: PemSource) => Buffer.from('pem' in source ? source.pem : read(source.file)).toString('base64');
  return {
    ...(shown === undefined ? {} : { token: shown }),
    ...(certificate && key ? { 'client-certificate-data': pem(certificate), 'client-key-data': pem(key) } : {}),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read (${errnoOf(error)})`);
  }
}

/** A kubeconfig of one cluster. The same input gives the same text. */
function kubeconfigText({ name, cluster }: SourceCluster, userName: string, user: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: kubeconfigCluster(cluster) }],
    users: [{ name: userName, user }],
    contexts: [{ name, context: { cluster: name, user: userName } }],
    'current-context': name,
  });
}

/** The part of its life after which a token is renewed. */
const renewAfter = 2 / 3;

/** Whether a token belongs to the account, and is not due yet. `now` is in milliseconds since 1970. */
export function stateOfToken(
  token: string,
  { namespace, name }: ServiceAccount,
  now: number,
): 'fresh' | 'due' | 'over' {
  const claims = claimsOfJwt(token);
  const [begin, end] = [timeOfClaim(claims?.iat), timeOfClaim(claims?.exp)];
  if (claims?.sub !== `system:serviceaccount:${namespace}:${name}` || begin === undefined || end === undefined)
    return 'over';
  if (now >= end) return 'over';
  return now < begin + (end - begin) * renewAfter ? 'fresh' : 'due';
}

/** Creates the account and its rights with the source's own rights, and gives its first token. */
function createServiceAccount(
  access: KubeconfigAccess,
  account: ServiceAccount,
  fieldManager: string,
  signal: AbortSignal,
): Promise<string> {
  return withContext(access, async (client) => {
    const api = apiOf(client);
    const { namespace, name, clusterRole } = account;
    const rbac = 'rbac.authorization.k8s.io';
    const of = (kind: string, group = `${rbac}/v1`) => api({ apiVersion: group, kind, fieldManager });
    const options = { force: true, signal };
    // A binding to a role that does not exist would be accepted.
    await of('ClusterRole').get(clusterRole, { signal });
    await of('ServiceAccount', 'v1').apply({ metadata: { namespace, name } }, options);
    const subjects = [{ kind: 'ServiceAccount', namespace, name }];
    const binding = { metadata: { name: `clusterprofile-publish:${namespace}:${name}` } };
    const bindings = of('ClusterRoleBinding');
    const { items } = await bindings.list({ fieldSelector: `metadata.name=${binding.metadata.name}`, signal });
    // The role of a binding cannot be changed.
    if (items.some(({ roleRef }) => Object(roleRef).name !== clusterRole)) {
      await bindings.delete(binding.metadata.name, { signal });
    }
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: clusterRole };
    await bindings.apply({ ...binding, roleRef, subjects }, options);
    const metadata = { namespace, name: `clusterprofile-publish:${name}` };
    const rules = [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [name], verbs: ['create'] }];
    await of('Role').apply({ metadata, rules }, options);
    const role = { apiGroup: rbac, kind: 'Role', name: metadata.name };
    await of('RoleBinding').apply({ metadata, roleRef: role, subjects }, options);
    return mint(client, account, signal);
  });
}

async function mint(
  client: ApiClient,
  { namespace, name, lifetimeMs }: ServiceAccount,
  signal: AbortSignal,
): Promise<string> {
  const answer = await client.request(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
    signal,
    post: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: Math.ceil(lifetimeMs / 1_000) },
    },
  });
  const token: unknown = Object(Object(answer.body).status).token;
  if (typeof token === 'string') return token;
  const said = answer.message === undefined ? '' : `: ${answer.message}`;
  throw new Error(`no token for service account ${namespace}/${name} (status ${answer.statusCode})${said}`);
}

/** `--service-account`: an identity of a controller's own on each cluster, whose token expires and renews itself. */
import { readFileSync } from 'node:fs';
import {
  type ApiClient,
  apiOf,
  claimsOfJwt,
  type KubeconfigAccess,
  mergeKubeconfigs,
  readContext,
  timeOfClaim,
  withContext,
} from '../../diagnose/index.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly clusterRole: string;
  /** Of a token. A server may shorten it. */
  readonly lifetimeMs: number;
}

/** The part of its life after which a token is renewed. */
const renewAfter = 2 / 3;

/** Whether a token belongs to the account, and is not due yet. `now` is in milliseconds since 1970. */
export function stateOfToken(
  token: string | undefined,
  { namespace, name }: ServiceAccount,
  now: number,
): 'fresh' | 'due' | 'over' {
  const claims = claimsOfJwt(token ?? '');
  const [begin, end] = [timeOfClaim(claims?.iat), timeOfClaim(claims?.exp)];
  if (claims?.sub !== `system:serviceaccount:${namespace}:${name}` || begin === undefined || end === undefined)
    return 'over';
  if (now >= end) return 'over';
  return now < begin + (end - begin) * renewAfter ? 'fresh' : 'due';
}

/** A new token, by the token of before, which is in this kubeconfig. */
export function renewToken(kubeconfig: string, account: ServiceAccount, signal: AbortSignal): Promise<string> {
  const merged = mergeKubeconfigs([{ text: kubeconfig, path: undefined, directory: undefined }]);
  return withContext(readContext(merged, undefined, readFileSync), (client) => mint(client, account, signal));
}

/** Creates the account and its rights with the source's own rights, and gives its first token. */
export function createServiceAccount(
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

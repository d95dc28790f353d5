import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AuthenticationV1Api, CoreV1Api, RbacAuthorizationV1Api } from '@kubernetes/client-node';
import { RestConfig } from '../../src/index.ts';
import type { Lifetime } from '../fixtures/listen.ts';
import { writeInput } from '../fixtures/program.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

export type { Lifetime } from '../fixtures/listen.ts';

/** The folder of the programs: run.ts has found or built them. */
export const programs = process.env.CONTROL_PLANE_PROGRAMS ?? '';

/** The path of a file that `npm run build` has made. */
export const dist = (path: string) => fileURLToPath(new URL(`../../dist/${path}`, import.meta.url));

/** Where a cluster is, and what its server's certificate is of. */
type Served = Pick<ControlPlane, 'server' | 'certificateAuthorityData'>;

/** Ends the last first, an informer before its server, and each whatever becomes of the others. */
export function lifetimeOf(t: Lifetime): Lifetime {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  return {
    after: (end) =>
      stack.defer(async () => {
        await end();
      }),
  };
}

/** A control plane that ends with the test. */
export async function startPlane(life: Lifetime, name: string, flags?: readonly string[]): Promise<ControlPlane> {
  const plane = await startControlPlane(programs, name, flags);
  life.after(() => plane.close());
  return plane;
}

/** Our config of its admin. It ends with the test. */
export function adminOf(life: Lifetime, plane: ControlPlane): RestConfig {
  const config = RestConfig.fromKubeConfig({ text: plane.admin.exportConfig() });
  life.after(() => config.close());
  return config;
}

/** The path of its admin's kubeconfig. */
export const adminFile = (t: TestContext, { admin }: ControlPlane) => writeInput(t, 'kubeconfig', admin.exportConfig());

/** The path of a kubeconfig of the service account `operator`. */
export async function operatorFile(t: TestContext, hub: ControlPlane): Promise<string> {
  const { mint } = await serviceAccount(hub, 'operator');
  return writeInput(t, 'hub', kubeconfigText(hub, { token: await mint() }));
}

/** The path of a provider file with these plugins, by their access types. */
export function providerFile(t: TestContext, commands: Readonly<Record<string, string>>): Promise<string> {
  const providers = Object.entries(commands).map(([name, command]) => {
    return { name, execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command } };
  });
  return writeInput(t, 'providers.json', { providers });
}

/** The cluster of a profile or a kubeconfig. */
export const clusterOf = ({ server, certificateAuthorityData }: Served) => ({
  server,
  'certificate-authority-data': certificateAuthorityData,
});

/** The status of a profile with one access type. */
export const accessBy = (name: string, cluster: object) => ({ accessProviders: [{ name, cluster }] });

/** Lets a user, or a service account, do everything in a cluster. */
export async function allow(
  plane: ControlPlane,
  subject: { kind: 'User' | 'ServiceAccount'; name: string },
): Promise<void> {
  const apiGroup = subject.kind === 'User' ? 'rbac.authorization.k8s.io' : '';
  const namespace = subject.kind === 'User' ? {} : { namespace: 'default' };
  await plane.admin.makeApiClient(RbacAuthorizationV1Api).createClusterRoleBinding({
    body: {
      metadata: { name: `allow-${subject.name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup, ...subject, ...namespace }],
    },
  });
}

/** Whether the server takes a token. It keeps what it has found out about one for ten seconds. */
export async function isTaken({ admin }: ControlPlane, token: string): Promise<boolean> {
  const reviews = admin.makeApiClient(AuthenticationV1Api);
  return (await reviews.createTokenReview({ body: { spec: { token } } })).status?.authenticated === true;
}

/** A service account that may do everything, a function that mints tokens for it, and one that revokes them all. */
export async function serviceAccount(plane: ControlPlane, name: string) {
  const core = plane.admin.makeApiClient(CoreV1Api);
  const create = () => core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name } } });
  await create();
  await allow(plane, { kind: 'ServiceAccount', name });
  return {
    mint: async (): Promise<string> => {
      const body = { spec: { audiences: ['https://kubernetes.default.svc'], expirationSeconds: 600 } };
      const { status } = await core.createNamespacedServiceAccountToken({ name, namespace: 'default', body });
      return status?.token ?? '';
    },
    /** A token belongs to one incarnation of its account: the server refuses it once its cache of ten seconds is over. */
    revoke: async (): Promise<void> => {
      await core.deleteNamespacedServiceAccount({ name, namespace: 'default' });
      await create();
    },
  };
}

/** Who the server says that a client is. */
export async function whoAmI(api: AuthenticationV1Api): Promise<string | undefined> {
  const { status } = await api.createSelfSubjectReview({ body: {} });
  return status?.userInfo?.username;
}

/** A kubeconfig with a context for each, for kubectl and Go's clients. The first is the current one. */
export function kubeconfigOf(all: readonly { name: string; served: Served; user: object }[]): string {
  return JSON.stringify({
    'current-context': all[0]?.name,
    contexts: all.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    clusters: all.map(({ name, served }) => ({ name, cluster: clusterOf(served) })),
    users: all.map(({ name, user }) => ({ name, user })),
  });
}

/** A kubeconfig with one context. */
export const kubeconfigText = (served: Served, user: object) => kubeconfigOf([{ name: 'c', served, user }]);

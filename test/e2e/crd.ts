import { readFileSync } from 'node:fs';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CustomObjectsApi } from '@kubernetes/client-node';
import { execa } from 'execa';
import { parse } from 'yaml';
import type { ControlPlane } from './control-plane.ts';
import { type Lifetime, programs, startPlane } from './fixture.ts';

const root = new URL('../../', import.meta.url);
export const readYamlFile = (path: string) => parse(readFileSync(new URL(path, root), 'utf8'));

/** What every call for a ClusterProfile names. */
export const profiles = { group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'clusterprofiles' } as const;

/** Creates a profile in the namespace `default`, as a cluster manager does: first the object, then its status. */
export async function publish(
  hub: ControlPlane,
  name: string,
  status?: object,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await hub.admin.makeApiClient(CustomObjectsApi).createNamespacedCustomObject({
    ...profiles,
    namespace: 'default',
    body: {
      apiVersion: `${profiles.group}/${profiles.version}`,
      kind: 'ClusterProfile',
      metadata: { name, namespace: 'default', labels },
      spec: { displayName: name, clusterManager: { name: 'test' } },
    },
  });
  if (status) await setStatus(hub, name, status);
}

/** Deletes a profile in the namespace `default`. */
export async function withdraw(hub: ControlPlane, name: string): Promise<void> {
  const custom = hub.admin.makeApiClient(CustomObjectsApi);
  await custom.deleteNamespacedCustomObject({ ...profiles, namespace: 'default', name });
}

export async function setStatus(hub: ControlPlane, name: string, status: object): Promise<void> {
  const custom = hub.admin.makeApiClient(CustomObjectsApi);
  const key = { ...profiles, namespace: 'default', name };
  const current = await custom.getNamespacedCustomObject(key);
  await custom.replaceNamespacedCustomObjectStatus({ ...key, body: { ...current, status } });
}

/** Runs kubectl as the plane's admin. */
export async function kubectlOf(plane: ControlPlane, ...args: readonly string[]): Promise<void> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'kubectl-'));
  const folder = temporary.path;
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, plane.admin.exportConfig());
  await execa(join(programs, 'kubectl'), ['--kubeconfig', kubeconfig, ...args]);
}

/** Our CRD. */
const ourCrd = fileURLToPath(new URL('crds/', root));

/** Registers a CRD with kubectl (a typed client would drop what it does not know), and waits until it is served. */
export async function registerCrd(plane: ControlPlane, path = ourCrd): Promise<void> {
  await kubectlOf(plane, 'create', '-f', path);
  const crd = 'crd/clusterprofiles.multicluster.x-k8s.io';
  await kubectlOf(plane, 'wait', '--for=condition=Established', crd, '--timeout=30s');
}

/** A control plane with our CRD. It ends with the test. */
export async function startHub(life: Lifetime, name = 'hub'): Promise<ControlPlane> {
  const hub = await startPlane(life, name);
  await registerCrd(hub);
  return hub;
}

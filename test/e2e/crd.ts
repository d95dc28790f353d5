import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { parse } from 'yaml';
import type { ControlPlane } from './control-plane.ts';
import { programs } from './fixture.ts';

const root = new URL('../../', import.meta.url);
export const readYamlFile = (path: string) => parse(readFileSync(new URL(path, root), 'utf8'));

/** What every call for a ClusterProfile names. */
export const profiles = { group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'clusterprofiles' } as const;

/** Runs kubectl as the plane's admin. */
export async function kubectlOf(plane: ControlPlane, ...args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-'));
  try {
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, plane.admin.exportConfig());
    await execa(join(programs, 'kubectl'), ['--kubeconfig', kubeconfig, ...args]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Our CRD. */
const ourCrd = fileURLToPath(new URL('crds/', root));

/** Registers a CRD with kubectl (a typed client would drop what it does not know), and waits until it is served. */
export async function registerCrd(plane: ControlPlane, path = ourCrd): Promise<void> {
  await kubectlOf(plane, 'create', '-f', path);
  const crd = 'crd/clusterprofiles.multicluster.x-k8s.io';
  await kubectlOf(plane, 'wait', '--for=condition=Established', crd, '--timeout=30s');
}

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

/** Registers the CRD with kubectl (a typed client would drop what it does not know), and waits until it is served. */
export async function registerCrd(plane: ControlPlane): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'crd-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, plane.admin.exportConfig());
  const kubectl = (...args: string[]) => execa(join(programs, 'kubectl'), ['--kubeconfig', kubeconfig, ...args]);
  await kubectl('create', '-f', fileURLToPath(new URL('crds/', root)));
  await kubectl('wait', '--for=condition=Established', 'crd/clusterprofiles.multicluster.x-k8s.io', '--timeout=30s');
  await rm(folder, { recursive: true });
}

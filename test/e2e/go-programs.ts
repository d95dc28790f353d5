/** Programs in Go that the e2e run needs: built once, and kept in the user's cache. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';

/** The minor versions of Kubernetes that the run can be made with: folders of a go.mod, which pins the rest. */
export const kubernetesVersions = readdirSync(new URL('./control-plane/', import.meta.url)).sort();
export const defaultKubernetes = '1.36';
const programs = ['etcd', 'kube-apiserver', 'kubectl'] as const;
export type Program = (typeof programs)[number];

/** Go is missing, or cannot fetch its modules: nothing here can be mended. */
export class CannotBuild extends Error {}

/**
 * The folder of etcd, kube-apiserver and kubectl: of the minor version that is asked for, `KUBEBUILDER_ASSETS`, or of the default
 * version. What is built is kept in the user's cache.
 */
export async function findPrograms(say: (line: string) => void, kubernetes?: string): Promise<string> {
  const { KUBEBUILDER_ASSETS: assets } = process.env;
  if (assets && kubernetes === undefined) {
    const missing = programs.filter((program) => !existsSync(join(assets, program)));
    if (missing.length > 0) throw new Error(`KUBEBUILDER_ASSETS ${assets} has no ${missing.join(' and no ')}`);
    return assets;
  }
  const module = fileURLToPath(new URL(`./control-plane/${kubernetes ?? defaultKubernetes}/`, import.meta.url));
  const flags = versionFlags(await readFile(join(module, 'go.mod'), 'utf8'));
  const digest = createHash('sha256')
    .update(await readFile(join(module, 'go.sum')))
    .digest('hex')
    .slice(0, 12);
  const cache = await cacheFolder(`control-plane-${digest}`);
  for (const [index, program] of programs.entries()) {
    const target = join(cache, program);
    if (existsSync(target)) continue;
    const began = performance.now();
    say(`building ${program} (${index + 1} of ${programs.length}; minutes the first time, then never again) ...`);
    await goBuild(module, sourceOf[program], `${target}.new`, flags);
    await rename(`${target}.new`, target);
    say(`built ${program} in ${Math.round((performance.now() - began) / 1000)} s`);
  }
  return cache;
}

/** A folder of this name in the user's cache: what has been built once is not built again. */
export async function cacheFolder(name: string): Promise<string> {
  const { XDG_CACHE_HOME } = process.env;
  const folder = join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'clusterprofile-credentials', name);
  await mkdir(folder, { recursive: true });
  return folder;
}

const sourceOf: { readonly [K in Program]: string } = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
};

/** kubectl refuses to parse a version that is not set. */
function versionFlags(goMod: string): readonly string[] {
  const [, version = '', minor = ''] = /k8s\.io\/kubernetes (v1\.(\d+)\.\d+)/.exec(goMod) ?? [];
  const set = { gitVersion: version, gitMajor: '1', gitMinor: minor };
  return [
    '-ldflags',
    Object.entries(set)
      .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
      .join(' '),
  ];
}

/** Builds one Go program. Throws `CannotBuild` where Go or its modules are out of reach. */
export async function goBuild(
  cwd: string,
  source: string,
  target: string,
  flags: readonly string[] = [],
): Promise<void> {
  await go(['build', ...flags, '-o', target, source], cwd);
}

/** Builds a program of test/e2e/access, or one of the modules that its go.mod requires. Throws as `goBuild` does. */
export const buildAccess = (source: string, target: string): Promise<void> =>
  goBuild(fileURLToPath(new URL('./access/', import.meta.url)), source, target);

/** Builds a Go program of a published version, as `go install PACKAGE@VERSION` does, into a folder. Throws `CannotBuild`. */
export async function goInstall(source: string, folder: string): Promise<void> {
  await go(['install', source], undefined, { GOBIN: folder });
}

async function go(args: readonly string[], cwd?: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { ...(cwd ? { cwd } : {}), env, reject: false } as const;
  const { exitCode, stdout, stderr, code } = await execa('go', args, options);
  if (exitCode === 0) return stdout;
  if (code === 'ENOENT') throw new CannotBuild('Go is not installed: install Go 1.26 or later to run this part');
  if (/requires go >= |toolchain not available/.test(stderr)) {
    throw new CannotBuild(`Go is too old: install Go 1.26 or later to run this part\n${stderr}`);
  }
  const network = /dial tcp|no such host|proxyconnect|timeout|connection refused|Forbidden|lookup /i;
  throw network.test(stderr) ? new CannotBuild(`Go cannot fetch its modules here:\n${stderr}`) : new Error(stderr);
}

/** The versions of the Go library whose CRD and plugins ours stand beside. */
export const upstreamVersions = ['v0.1.0', 'v0.1.3'] as const;

/** The folder of a version of the Go library. Throws `CannotBuild` where Go or its modules are out of reach. */
export function upstreamFolder(version: (typeof upstreamVersions)[number]): Promise<string> {
  return moduleFolder(`sigs.k8s.io/cluster-inventory-api@${version}`);
}

/** The folder of a Go module's source: of a version, or of the one that the module in `cwd` requires. Throws `CannotBuild`. */
export async function moduleFolder(module: string, cwd?: string): Promise<string> {
  const answer = JSON.parse(await go(['mod', 'download', '-json', module], cwd));
  return z.object({ Dir: z.string() }).parse(answer).Dir;
}

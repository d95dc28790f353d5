/** The programs of others that a run of `producers` needs. Each is built once, as it was published, and kept in the user's cache. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder, goBuild, goInstall } from '../go-programs.ts';

interface Program {
  /** Of the executable. */
  readonly name: string;
  readonly source: string;
  readonly version: string;
  /** The folder whose go.mod requires it, where a module proxy may list no versions of it. */
  readonly pinnedIn?: string;
}

export const producerPrograms: readonly Program[] = [
  {
    name: 'aws-iam-authenticator',
    source: 'sigs.k8s.io/aws-iam-authenticator/cmd/aws-iam-authenticator',
    version: 'v0.7.8',
  },
  { name: 'kubelogin', source: 'github.com/Azure/kubelogin', version: 'v0.2.21' },
  {
    name: 'clusterprofile-credentials-plugin',
    source: 'open-cluster-management.io/managed-serviceaccount/cmd/clusterprofile-credentials-plugin',
    version: 'v0.10.0',
    pinnedIn: './',
  },
  {
    name: 'ecr-credential-provider',
    source: 'k8s.io/cloud-provider-aws/cmd/ecr-credential-provider',
    version: 'v1.36.0',
  },
  { name: 'crane', source: 'github.com/google/go-containerregistry/cmd/crane', version: 'v0.20.6' },
  { name: 'registry', source: 'github.com/distribution/distribution/v3/cmd/registry', version: 'v3.0.0' },
];

/** Where test files find the folder of the programs. */
export const producersVariable = 'E2E_PRODUCERS';

/** The folder of the programs. Throws `CannotBuild` where Go or its modules are out of reach. */
export async function buildProducers(say: (line: string) => void): Promise<string> {
  const module = fileURLToPath(new URL('.', import.meta.url));
  const digest = createHash('sha256')
    .update(JSON.stringify(producerPrograms))
    .update(await readFile(join(module, 'go.sum')))
    .digest('hex')
    .slice(0, 12);
  const cache = await cacheFolder(`producers-${digest}`);
  for (const [index, { name, source, version, pinnedIn }] of producerPrograms.entries()) {
    const target = join(cache, name);
    if (existsSync(target)) continue;
    const began = performance.now();
    const which = `${index + 1} of ${producerPrograms.length}`;
    say(`building ${name} ${version} (${which}; minutes the first time, then never again) ...`);
    if (pinnedIn !== undefined) {
      await goBuild(join(module, pinnedIn), source, `${target}.new`);
      await rename(`${target}.new`, target);
    } else {
      await goInstall(`${source}@${version}`, cache);
      await rename(join(cache, basename(source)), target);
    }
    say(`built ${name} in ${Math.round((performance.now() - began) / 1000)} s`);
  }
  return cache;
}

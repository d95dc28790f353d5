/** A recipe's own provider file, run on the machine of the test. */
import assert from 'node:assert/strict';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AuthenticationV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { parse } from 'yaml';
import { type ClusterProfile, CredentialProviders, type EnvVar, type RestConfig } from '../../../src/index.ts';
import { programFile, writeInput } from '../../fixtures/program.ts';
import type { ControlPlane } from '../control-plane.ts';
import { clusterOf, programs, whoAmI } from '../fixture.ts';
import { producersVariable } from './programs.ts';

const examples = fileURLToPath(new URL('../../../examples/', import.meta.url));
const pages = fileURLToPath(new URL('../../../docs/recipes/', import.meta.url));

/** A program of another project, built by the run. */
export function producer(name: string): string {
  return join(process.env[producersVariable] ?? '', name);
}

/** What is other here than in the recipe's pod. */
interface Here {
  /** Where the plugin is. */
  readonly command: string;
  /** Files of the pod, and where they are here. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the plugin needs besides. */
  readonly env?: Readonly<Record<string, string>>;
  /** The cluster that is in the place of the recipe's. */
  readonly servers: readonly string[];
}

/**
 * The providers of a folder of examples/deploy/, hardened as its Deployment: arguments, variables, policies and rules are the
 * recipe's. They are closed with the test. `page` is the recipe's in docs/recipes/.
 */
export async function startRecipe(
  t: TestContext,
  page: string,
  { command, files = {}, env = {}, servers }: Here,
  folder: string = page,
) {
  const { providers } = parse(await readFile(join(examples, 'deploy', folder, 'providers.yaml'), 'utf8'));
  // npm does so when it installs one.
  await chmod(command, 0o755);
  const here = (text: string) => files[text] ?? text;
  /** Texts of here, and what the recipe has in their place. */
  const there = new Map<string, string>(Object.entries(files).map(([other, own]) => [own, other]));
  for (const provider of providers) {
    const { execConfig } = provider;
    const given: readonly EnvVar[] = execConfig.env ?? [];
    there.set(command, execConfig.command);
    execConfig.command = command;
    execConfig.args = (execConfig.args ?? []).map(here);
    execConfig.env = [
      ...given.map(({ name, value }) => ({ name, value: here(value) })).filter(({ name }) => !(name in env)),
      ...Object.entries(env).map(([name, value]) => ({ name, value })),
    ];
    there.set(servers.join(', '), provider.allowedServers.join(', '));
    provider.allowedServers = servers;
  }
  const file = await writeInput(t, 'providers.json', { providers });
  const started = CredentialProviders.fromFile(file, {
    hardened: true,
    pluginPolicy: { policyType: 'Allowlist', allowlist: [{ command }] },
  });
  t.after(() => started.close());

  const check = async (profile: ClusterProfile) => {
    const metadata = { namespace: 'fleet-system', name: 'spoke-1', ...profile.metadata };
    const kind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' };
    const path = await writeInput(t, 'profile.json', { ...kind, ...profile, metadata });
    const flags = [
      `--clusterprofile-provider-file=${file}`,
      '--clusterprofile-hardened',
      '--clusterprofile-plugin-policy=Allowlist',
      `--clusterprofile-plugin-allowlist=${command}`,
    ];
    const args = [programFile, 'check', '-f', path, ...flags];
    return execa(process.execPath, args, { reject: false });
  };
  return {
    providers: started,
    /** What `clusterprofile check` says of a profile that is as it should be: the identity. */
    identify: async (profile: ClusterProfile) => {
      const { stdout, stderr, exitCode } = await check(profile);
      assert.equal(exitCode, 0, `${stdout}${stderr}`);
      const [, identity = assert.fail(stdout)] = /^ *ok +identity +\S+ \S+ +(.*?)(?: \(.*)?$/m.exec(stdout) ?? [];
      return identity;
    },
    /** Fails where `clusterprofile check` finds nothing wrong, or where the recipe's page does not show what it says. */
    isShown: async (profile: ClusterProfile) => {
      const { stdout } = await check(profile);
      const [, failed = assert.fail(stdout)] = /^ *(FAIL.*)\n\d+ cluster/ms.exec(stdout) ?? [];
      const text = [...there].reduce((said, [own, other]) => said.replaceAll(own, other), failed);
      const shown = spaced(await readFile(join(pages, `${page}.md`), 'utf8'));
      // Of what a plugin writes to stderr, its first line.
      for (const line of text.split('\n').slice(0, 2)) {
        assert.ok(shown.includes(spaced(line)), `docs/recipes/${page}.md does not show:\n${text}`);
      }
    },
  };
}

/** Times, dates and ports are others at each run. */
function spaced(text: string): string {
  return text
    .replace(/\d+(?:\.\d+)? m?s(?= {2})/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'DATE')
    .replace(/https:\/\/127\.0\.0\.1:\d+/g, 'SERVER')
    .replace(/\s+/g, ' ');
}

/** A profile of a file below examples/producers/, of another cluster. */
export async function profileOf(shape: string, plane: ControlPlane, change: object = {}): Promise<ClusterProfile> {
  const profile = parse(
    (await readFile(join(examples, 'producers', shape, 'profiles.yaml'), 'utf8')).split('\n---\n')[0] ?? '',
  );
  const [provider] = profile.status.accessProviders;
  Object.assign(provider.cluster, clusterOf(plane), change);
  return profile;
}

/** Who the cluster says that its visitor is, under the SDK; it has to say the same to kubectl with what `exportConfig` gives. */
export async function whoUnderBoth(t: TestContext, config: RestConfig): Promise<string | undefined> {
  const name = await whoAmI(config.makeApiClient(AuthenticationV1Api));
  const kubeconfig = await writeInput(t, 'kubeconfig', config.exportConfig());
  const args = ['--kubeconfig', kubeconfig, 'auth', 'whoami', '-o', 'json'];
  // What a hardened controller gives its plugins: this machine's own AWS_CA_BUNDLE, say, must not decide.
  const { PATH, HOME } = process.env;
  const options = { env: { PATH, HOME }, extendEnv: false, reject: false } as const;
  const { stdout, stderr, exitCode } = await execa(join(programs, 'kubectl'), args, options);
  assert.equal(exitCode, 0, stderr);
  assert.equal(JSON.parse(stdout).status.userInfo.username, name);
  return name;
}

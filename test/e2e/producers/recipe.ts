/** A recipe's own provider file, run on the machine of the test. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AuthenticationV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { parse } from 'yaml';
import { type ClusterProfile, CredentialProviders, type EnvVar, type RestConfig } from '../../../src/index.ts';
import { temporaryFolder } from '../../fixtures/script.ts';
import type { ControlPlane } from '../control-plane.ts';
import { programs, whoAmI } from '../fixture.ts';
import { record } from '../ledger.ts';
import { producersVariable } from './programs.ts';

const examples = fileURLToPath(new URL('../../../examples/', import.meta.url));

/** A program of another project, built by the run. */
export function producer(name: string): string {
  return join(process.env[producersVariable] ?? '', name);
}

/** What is other here than in the recipe's pod. */
export interface Here {
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
 * The providers of a file below examples/, hardened as the Deployments there are: arguments, variables, policies and rules are the
 * recipe's. They are closed with the test.
 */
export async function startRecipe(t: TestContext, file: string, { command, files = {}, env = {}, servers }: Here) {
  const { providers } = parse(await readFile(join(examples, file), 'utf8'));
  const here = (text: string) => files[text] ?? text;
  for (const provider of providers) {
    const { execConfig } = provider;
    const given: readonly EnvVar[] = execConfig.env ?? [];
    execConfig.command = command;
    execConfig.args = (execConfig.args ?? []).map(here);
    execConfig.env = [
      ...given.map(({ name, value }) => ({ name, value: here(value) })).filter(({ name }) => !(name in env)),
      ...Object.entries(env).map(([name, value]) => ({ name, value })),
    ];
    provider.allowedServers = servers;
  }
  const path = join(await temporaryFolder(t), 'providers.json');
  await writeFile(path, JSON.stringify({ providers }));
  const started = CredentialProviders.fromFile(path, {
    hardened: true,
    pluginPolicy: { policyType: 'Allowlist', allowlist: [{ command }] },
  });
  t.after(() => started.close());
  return started;
}

/** A profile of a file below examples/producers/, of another cluster. */
export async function profileOf(shape: string, plane: ControlPlane, change: object = {}): Promise<ClusterProfile> {
  const profile = parse(
    (await readFile(join(examples, 'producers', shape, 'profiles.yaml'), 'utf8')).split('\n---\n')[0] ?? '',
  );
  const [provider] = profile.status.accessProviders;
  Object.assign(provider.cluster, {
    server: plane.server,
    'certificate-authority-data': plane.certificateAuthorityData,
    ...change,
  });
  return profile;
}

/** Who the cluster says that its visitor is, under the SDK; it has to say the same to kubectl with what `exportConfig` gives. */
export async function whoUnderBoth(t: TestContext, config: RestConfig): Promise<string | undefined> {
  const name = await whoAmI(config.makeApiClient(AuthenticationV1Api));
  assert.deepEqual(await underKubectl(t, config), { name });
  record('plugin of others that authenticates under the SDK and under kubectl, with the same user');
  return name;
}

/** The same of kubectl alone: the user's name, or what it says. */
export async function underKubectl(t: TestContext, config: RestConfig) {
  const kubeconfig = join(await temporaryFolder(t), 'kubeconfig');
  await writeFile(kubeconfig, config.exportConfig(), { mode: 0o600 });
  const args = ['--kubeconfig', kubeconfig, 'auth', 'whoami', '-o', 'json'];
  // What a hardened controller gives its plugins: this machine's own AWS_CA_BUNDLE, say, must not decide.
  const { PATH, HOME } = process.env;
  const options = { env: { PATH, HOME }, extendEnv: false, reject: false } as const;
  const { stdout, stderr, exitCode } = await execa(join(programs, 'kubectl'), args, options);
  return exitCode === 0 ? { name: JSON.parse(stdout).status.userInfo.username } : { said: stderr };
}

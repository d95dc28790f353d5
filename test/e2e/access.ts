// Compares resolve() with the Go library (sigs.k8s.io/cluster-inventory-api v0.1.3) on generated provider files and profiles.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseProviderFile } from '../../src/access/provider-file.ts';
import { type ResolvedAccess, resolve } from '../../src/access/resolve.ts';
import { ConfigurationError, ProfileError } from '../../src/errors.ts';
import { caData } from '../fixtures/ca.ts';
import { askGo, tally } from './differential.ts';

interface Case {
  readonly file: {
    readonly providers: readonly {
      readonly name: string;
      readonly execConfig: { readonly env?: readonly { readonly name: string; readonly value: string }[] };
    }[];
  };
  readonly profile: object;
}

/** What the Go program prints. */
interface Theirs {
  readonly error?: string;
  readonly host?: string;
  readonly ca?: string;
  readonly proxy?: string;
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly provideClusterInfo?: boolean;
  readonly config?: unknown;
}

const names = fc.constantFrom('google', 'azure', 'aws', 'spire-agent');
const word = fc.oneof(
  fc.constantFrom('', 'a', '--flag', 'a b', '$HOME', '*', 'é', '{}', "'", 'true', '0x10'),
  fc.string({ maxLength: 6 }),
);
const variable = fc.constantFrom('A', 'B', 'CLUSTER', 'Z_1', 'a', 'REGION');
const scalar = fc.oneof(
  { weight: 6, arbitrary: word },
  fc.constantFrom<unknown>(true, false, 0, 7, -3, 2 ** 40, 1.5, null),
  fc.constantFrom<unknown>([], {}, ['x'], { a: 1 }),
);
const provider = fc.record({
  name: names,
  execConfig: fc.record(
    {
      apiVersion: fc.constantFrom('client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'),
      command: fc.constantFrom('/usr/bin/plugin', 'plugin', './plugin'),
      args: fc.array(word, { maxLength: 3 }),
      env: fc.array(fc.record({ name: variable, value: word }), { maxLength: 3 }),
      provideClusterInfo: fc.boolean(),
    },
    { requiredKeys: ['apiVersion', 'command'] },
  ),
  profileSourcedCLIArgsPolicy: fc.constantFrom('Append', 'Append', 'Ignore', undefined),
  profileSourcedEnvVarsPolicy: fc.constantFrom('Replace', 'AppendIfNotExists', 'Ignore', undefined),
});
const prefix = 'clusterprofiles.multicluster.x-k8s.io/exec/additional-';
const extension = fc.oneof(
  fc.record({
    name: fc.constant(`${prefix}args`),
    extension: fc.oneof(
      { weight: 6, arbitrary: fc.array(fc.oneof({ weight: 9, arbitrary: word }, scalar), { maxLength: 3 }) },
      scalar,
    ),
  }),
  fc.record({
    name: fc.constant(`${prefix}envs`),
    extension: fc.oneof(
      {
        weight: 6,
        arbitrary: fc.dictionary(
          fc.oneof({ weight: 20, arbitrary: variable }, fc.constantFrom('', 'A=B', 'PATH')),
          fc.oneof({ weight: 9, arbitrary: word }, scalar),
          { maxKeys: 3 },
        ),
      },
      scalar,
    ),
  }),
  fc.record({
    name: fc.constant('client.authentication.k8s.io/exec'),
    extension: fc.oneof(
      fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text)),
      fc.constant({ clusterName: 'c', id: 12 }),
    ),
  }),
  fc.record({ name: fc.constantFrom('other', 'another'), extension: scalar }),
);
const cluster = fc.record(
  {
    server: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.constantFrom(
          'https://h',
          'https://h:6443/',
          'https://h/v1/projects/1',
          'https://[::1]:1',
          'HTTPS://H',
        ),
      },
      fc.constantFrom('http://h', 'h:443', '', 'https://u:p@h', 'https://h?q'),
    ),
    'certificate-authority-data': fc.constantFrom(caData, caData, caData, caData, caData, caData, 'YQ==', ''),
    'proxy-url': fc.constantFrom('', '', '', '', 'http://p:3128', 'https://p', 'socks5://p', 'ftp://p'),
    'tls-server-name': fc.constantFrom('', 'n'),
    'disable-compression': fc.boolean(),
    extensions: fc.uniqueArray(extension, { maxLength: 3, selector: ({ name }) => name }),
  },
  { requiredKeys: ['server'] },
);
const entries = fc.uniqueArray(fc.record({ name: names, cluster }), { maxLength: 3, selector: ({ name }) => name });
const cases: fc.Arbitrary<Case> = fc.record({
  file: fc.record({
    providers: fc.uniqueArray(provider, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
  }),
  profile: fc.record({
    metadata: fc.constant({ name: 'p', namespace: 'n' }),
    status: fc.record(
      { accessProviders: entries, credentialProviders: entries },
      { requiredKeys: ['accessProviders'] },
    ),
  }),
});

/** The rules of the README by which we refuse what the Go library takes, and take what makes it fail. */
const refusals: Readonly<Record<string, string>> = {
  SERVER_INVALID: 'a server has to be an absolute https:// URL',
  SERVER_INSECURE: 'http:// sends the token in the clear',
  CA_INVALID: 'an authority has to be certificates',
  PROXY_INVALID: 'a proxy has to be http, https or socks5, without a login',
  ARG_INVALID: 'null, fractions, lists and objects are no arguments',
  ENV_INVALID: 'null, fractions, lists, objects and impossible names are no variables',
  ENV_NOT_ALLOWED: 'dangerous variables are refused',
  EXTENSION_INVALID: 'an integer beyond 2^53 has lost digits',
};

function ours({ file, profile }: Case): ResolvedAccess | ProfileError | ConfigurationError {
  try {
    return resolve(profile, parseProviderFile(JSON.stringify(file), 'generated'));
  } catch (error) {
    if (error instanceof ProfileError || error instanceof ConfigurationError) return error;
    throw error;
  }
}

/** How our result differs from theirs: nothing, or the rule behind it. Throws where no rule explains it. */
function compare(given: Case, theirs: Theirs): string {
  const result = ours(given);
  if (result instanceof ConfigurationError) return assert.fail(result.message);
  if (result instanceof ProfileError) {
    if (theirs.error !== undefined) return 'both refuse';
    return refusals[result.code] ?? assert.fail(`we refuse with ${result.code}: ${result.message}`);
  }
  if (theirs.error !== undefined) {
    if (/^panic: assignment to entry in nil map/.test(theirs.error)) return 'additional-envs that are null mean none';
    return assert.fail(`the Go library refuses: ${theirs.error}`);
  }
  const { cluster, exec } = result;
  const host = theirs.host ?? '';
  assert.equal(cluster.server, `${host.slice(0, 8).toLowerCase()}${host.slice(8).replace(/\/+$/, '')}`);
  assert.equal(cluster.certificateAuthorityData ?? '', theirs.ca ?? '');
  assert.equal(cluster.proxyUrl ?? '', theirs.proxy ?? '');
  assert.equal(exec.apiVersion, theirs.apiVersion);
  assert.equal(exec.command, theirs.command);
  assert.deepEqual(exec.args, theirs.args ?? []);
  assert.equal(exec.provideClusterInfo, theirs.provideClusterInfo ?? false);
  assert.deepEqual(exec.config ?? null, theirs.config ?? null);
  const env = Object.fromEntries(exec.env.map(({ name, value }) => [name, value]));
  const differing = Object.keys({ ...env, ...theirs.env }).filter((name) => env[name] !== theirs.env?.[name]);
  if (differing.length === 0) return 'equal';
  // Of two configured values of one variable they pass on the first or the last, as the policy has it.
  const configured = given.file.providers.find(({ name }) => name === result.provider)?.execConfig.env ?? [];
  for (const name of differing) {
    const values = configured.filter((variable) => variable.name === name).map(({ value }) => value);
    assert.ok(values.length > 1 && values.includes(theirs.env?.[name] ?? '') && env[name] === values.at(-1), name);
  }
  return 'a variable that is configured twice has its last value';
}

/** How many cases came out how. */
export async function compareAccess(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(cases, { numRuns: count, seed });
  return tally(seed, generated, await askGo('access', '.', generated), compare);
}

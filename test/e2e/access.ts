// Compares resolve() with the Go library (sigs.k8s.io/cluster-inventory-api v0.1.3) on generated provider files and profiles.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseProviderFile } from '../../src/access/provider-schema.ts';
import { type ResolvedAccess, resolve } from '../../src/access/resolve.ts';
import { ConfigurationError, ProfileError } from '../../src/errors/index.ts';
import { caData } from '../fixtures/ca.ts';
import { askGo, tally } from './differential.ts';

interface Case {
  readonly file: {
    readonly providers: readonly {
      readonly name: string;
      readonly execConfig: { readonly env?: readonly { readonly name: string; readonly value: string }[] };
      readonly allowedProfiles?: { readonly namespaces: readonly string[] } | undefined;
      readonly allowedServers?: readonly string[] | undefined;
    }[];
  };
  readonly profile: { readonly metadata: { readonly namespace: string } };
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
  fc.constantFrom('', 'a', '--flag', 'a b', '$HOME', '*', 'é', '{}', "'", 'true', '0x10', 'a\n\u001b[2J\u2028'),
  fc.string({ maxLength: 6 }),
);
const variable = fc.constantFrom('A', 'B', 'CLUSTER', 'Z_1', 'a', 'REGION', 'CLIENT_ID', 'TENANT_ID');
/** Of each kind of variable that a profile may not set. */
const dangerous = ['PATH', 'GODEBUG', 'aws_endpoint_url_sts', 'AZURE_AUTHORITY_HOST', 'VAULT_ADDR', 'SSLKEYLOGFILE'];
/** Rules for servers, and which of the generated servers each lets in. */
const serverRules: Readonly<Record<string, readonly string[]>> = {
  'https://*': ['https://h', 'HTTPS://H', 'https://h/v1/projects/1', 'https://h/v1/../v2'],
  'https://h/v1': ['https://h/v1/projects/1'],
  'https://*:6443': ['https://h:6443/'],
  'https://10.0.0.0/8:6443': ['https://10.1.2.3:6443'],
  'https://[::]/0:1': ['https://[::1]:1'],
};
const servers = [...new Set(Object.values(serverRules).flat()), 'https://172.16.0.1:6443'];
const scalar = fc.oneof(
  { weight: 6, arbitrary: word },
  fc.constantFrom<unknown>(true, false, 0, 7, -3, 2 ** 40, 1.5, null),
  fc.constantFrom<unknown>([], {}, ['x'], { a: 1 }),
);
const sometimes = <T>(rule: fc.Arbitrary<T>) => fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, rule);
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
  // Rules of ours, which the Go library passes over.
  allowInsecureTLS: fc.constantFrom(undefined, undefined, false, true),
  allowedProfiles: sometimes(fc.constantFrom({ namespaces: ['n'] }, { namespaces: ['other', 'm*'] })),
  allowedServers: sometimes(fc.array(fc.constantFrom(...Object.keys(serverRules)), { maxLength: 3 })),
  allowedServerNames: sometimes(fc.constantFrom([], ['n'], ['*.internal'])),
  allowedProxies: sometimes(fc.constantFrom([], ['http://p:3128', 'socks5://*'])),
  allowedArgs: sometimes(fc.constantFrom(['*'], ['--*', 'a*'], ['*a*b*c'])),
  allowedEnvVars: sometimes(fc.constantFrom(['*'], ['A', 'CLUSTER*', 'PATH'])),
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
          fc.oneof({ weight: 20, arbitrary: variable }, fc.constantFrom('', 'A=B', ...dangerous)),
          fc.oneof({ weight: 9, arbitrary: word }, scalar),
          { maxKeys: 3 },
        ),
      },
      fc.constant(null),
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
  fc.record({ name: fc.constantFrom('other', 'another\u001b[2J\n'), extension: scalar }),
);
/** More than a profile may say. */
const tooMuch = fc.constantFrom(
  { name: 'other', extension: 'x'.repeat(262_144) },
  { name: `${prefix}args`, extension: new Array(1_001).fill('') },
  {
    name: `${prefix}envs`,
    extension: Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`V${index}`, ''])),
  },
);
const cluster = fc.record(
  {
    server: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.constantFrom(...servers),
      },
      fc.constantFrom('http://h', 'h:443', '', 'https://u:p@h', 'https://h?q'),
    ),
    'certificate-authority-data': fc.constantFrom(caData, caData, caData, caData, caData, caData, 'YQ==', ''),
    'proxy-url': fc.constantFrom('', '', '', '', 'http://p:3128', 'https://p', 'socks5://p', 'ftp://p'),
    'tls-server-name': fc.constantFrom('', '', 'n', 'h', 'a.internal', 'attacker.dev'),
    'disable-compression': fc.boolean(),
    extensions: fc.uniqueArray(fc.oneof({ weight: 300, arbitrary: extension }, tooMuch), {
      maxLength: 3,
      selector: ({ name }) => name,
    }),
  },
  { requiredKeys: ['server'] },
);
const entry = fc.record({
  name: fc.oneof({ weight: 20, arbitrary: names }, fc.constant('\u001b[2J\nforged')),
  cluster,
});
const entries = fc.oneof(
  { weight: 20, arbitrary: fc.uniqueArray(entry, { maxLength: 3, selector: ({ name }) => name }) },
  fc.array(entry, { maxLength: 3 }),
);
const cases: fc.Arbitrary<Case> = fc.record({
  file: fc.record({
    providers: fc.uniqueArray(provider, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
  }),
  profile: fc.record({
    metadata: fc.record({ name: fc.constantFrom('p', 'p\u009b31m\r'), namespace: fc.constantFrom('n', 'n', 'm-1') }),
    status: fc.record(
      { accessProviders: entries, credentialProviders: entries },
      { requiredKeys: ['accessProviders'] },
    ),
  }),
});

/** The rules of docs/differences.md by which we refuse what the Go library takes, and take what makes it fail. */
const refusals: Readonly<Record<string, string>> = {
  PROFILE_INVALID: 'an access type stands in a list once',
  PROFILE_NOT_ALLOWED: 'rules of the provider: allowedProfiles',
  PROFILE_TOO_LARGE: 'a profile has limits',
  SERVER_INVALID: 'a server has to be an absolute https:// URL',
  SERVER_INSECURE: 'http:// sends the token in the clear',
  SERVER_NOT_ALLOWED: 'rules of the provider: allowedServers, allowedServerNames',
  CA_INVALID: 'an authority has to be certificates',
  PROXY_INVALID: 'a proxy has to be http, https or socks5, without a login',
  PROXY_NOT_ALLOWED: 'rules of the provider: allowedProxies, and none with allowedServers alone',
  ARG_NOT_ALLOWED: 'rules of the provider: allowedArgs',
  ENV_NOT_ALLOWED: 'dangerous variables are refused, and what is not in allowedEnvVars',
  EXTENSION_INVALID: 'an integer beyond 2^53 has lost digits; arguments and variables are texts, integers or booleans',
};

/** That a profile which is let in keeps the rules, and that nothing of one that is refused can forge or fill a log. */
function checkRules({ file, profile }: Case, result: ResolvedAccess | ProfileError): void {
  const rules = file.providers.find(({ name }) => name === result.provider);
  const { namespace } = profile.metadata;
  const { namespaces } = rules?.allowedProfiles ?? {};
  const isAllowed = !namespaces || namespaces.includes(namespace) || (namespaces.includes('m*') && namespace === 'm-1');
  if (result instanceof ProfileError) {
    const texts = [result.message, result.path, result.profile];
    assert.ok(texts.every((text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text) && Buffer.byteLength(text) <= 4_096));
    if (rules) assert.equal(result.code === 'PROFILE_NOT_ALLOWED', !isAllowed);
    return;
  }
  assert.ok(isAllowed);
  const { server } = result.cluster;
  const lets = (rule: string) =>
    serverRules[rule]?.some((known) => known.toLowerCase().replace(/\/$/, '') === server.toLowerCase());
  assert.ok(!rules?.allowedServers || rules.allowedServers.some(lets), `${server} is not allowed`);
  const configured = rules?.execConfig.env?.map(({ name }) => name) ?? [];
  const added = result.exec.env.filter(({ name }) => !configured.includes(name));
  assert.ok(added.every(({ name }) => name === 'PATH' || !dangerous.includes(name)));
}

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
  checkRules(given, result);
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

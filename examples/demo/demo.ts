// Four clusters, four access types: two configured by flags, two by a provider file. Every token is replaced while it runs.
import { subscribe } from 'node:diagnostics_channel';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { AuthenticationV1Api, CoreV1Api } from '@kubernetes/client-node';
import { type ClusterProfile, CredentialProviders, type KubeconfigCluster } from 'clusterprofile-credentials';
import { FakeCluster } from 'clusterprofile-credentials/testing';
import { parse } from 'yaml';

const requestsPerRound = 25;
const rounds = [1, 2, 3];
const examples = fileURLToPath(new URL('../', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'clusterprofile-demo-'));
const tokens = join(folder, 'tokens');
const types = ['google', 'secretreader', 'spire-agent', 'kubelogin'] as const;
type AccessType = (typeof types)[number];

/** What the demo keeps for each access type. */
interface Spoke {
  readonly type: AccessType;
  readonly cluster: FakeCluster;
  readonly profile: ClusterProfile;
  readonly plugin: string;
  identity: string;
  /** Milliseconds from the first request of each round to its last answer. */
  ms: number;
}

const began = performance.now();
const since = (start: number) => performance.now() - start;
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** How often each plugin ran, and for how many milliseconds, from the package's events. */
const runs = new Map<unknown, { count: number; ms: number }>();
subscribe('clusterprofile-credentials:plugin-run-end', (event) => {
  const { provider, durationMs }: { provider?: unknown; durationMs?: unknown } = Object(event);
  const { count, ms } = runs.get(provider) ?? { count: 0, ms: 0 };
  runs.set(provider, { count: count + 1, ms: ms + Number(durationMs) });
});
const runsOf = (type: AccessType) => runs.get(type) ?? { count: 0, ms: 0 };

/** Writes a command with its own name that runs one of the example plugins. Gives the file name of that plugin. */
async function installPlugin(type: AccessType): Promise<string> {
  const plugin = type === 'secretreader' ? 'token-folder.ts' : 'token-file.sh';
  const command = join(folder, `${type}-plugin`);
  const run = plugin.endsWith('.ts') ? `exec '${process.execPath}' --disable-warning=ExperimentalWarning` : 'exec';
  await writeFile(command, `#!/bin/sh\n${run} '${join(examples, 'plugins', plugin)}' "$@"\n`);
  await chmod(command, 0o755);
  return plugin;
}

/** Makes a new token. From now on the plugin gives this one, and the cluster accepts no other. */
async function rotate({ type, cluster }: Pick<Spoke, 'type' | 'cluster'>, round: number): Promise<void> {
  const token = `demo-${type}-${round}-${crypto.randomUUID()}`;
  await writeFile(join(tokens, type === 'secretreader' ? 'spoke-1' : type), token);
  cluster.setTokens({ [token]: `${type}:controller` });
}

/** The example profile, with the address of the fake cluster. */
async function readProfile(type: AccessType, { url, certificateAuthorityData }: FakeCluster): Promise<ClusterProfile> {
  const profile: ClusterProfile = parse(await readFile(join(examples, 'profiles', `${type}.yaml`), 'utf8'));
  const accessProviders = profile.status?.accessProviders?.map(({ name, cluster }) => {
    const filled: KubeconfigCluster = {
      ...cluster,
      server: url,
      'certificate-authority-data': certificateAuthorityData,
    };
    return { name, cluster: filled };
  });
  return { ...profile, status: { ...profile.status, ...(accessProviders ? { accessProviders } : {}) } };
}

async function configure(): Promise<CredentialProviders> {
  const execConfig = (type: AccessType, more: object) => ({
    apiVersion: 'client.authentication.k8s.io/v1',
    command: join(folder, `${type}-plugin`),
    ...more,
  });
  const file = join(folder, 'providers.json');
  const env = [{ name: 'TOKEN_FOLDER', value: tokens }];
  const providers = [
    { name: 'secretreader', execConfig: execConfig('secretreader', { env, provideClusterInfo: true }) },
    {
      name: 'kubelogin',
      execConfig: execConfig('kubelogin', { args: [join(tokens, 'kubelogin')] }),
      profileSourcedEnvVarsPolicy: 'AppendIfNotExists',
    },
  ];
  await writeFile(file, JSON.stringify({ providers }));
  const flags = [
    {
      flag: '--clusterprofile-access-provider',
      value: `google='${folder}/google-plugin ${tokens}/google'`,
      meaning: 'profiles of the access type google: this command prints the credential',
    },
    {
      flag: '--clusterprofile-access-provider',
      value: `spire-agent='${folder}/spire-agent-plugin ${tokens}/spire-agent'`,
      meaning: 'the same for spire-agent',
    },
    {
      flag: '--clusterprofile-sourced-cli-args-policy',
      value: 'spire-agent=Append',
      meaning: 'a profile of this type may add arguments to the command',
    },
    {
      flag: '--clusterprofile-provider-file',
      value: file,
      meaning: `${providers.map(({ name }) => name).join(' and ')} are configured in a file`,
    },
  ];
  console.log(`The flags of this controller ($DEMO is ${folder}):`);
  for (const { flag, value, meaning } of flags) {
    console.log(`  ${flag} ${value.replaceAll(folder, '$DEMO')}\n      ${styleText('dim', meaning)}`);
  }
  return CredentialProviders.fromArgs(flags.flatMap(({ flag, value }) => [flag, value]));
}

async function callCluster(spoke: Spoke, providers: CredentialProviders): Promise<void> {
  const start = performance.now();
  const config = providers.getConfig(spoke.profile);
  const core = config.makeApiClient(CoreV1Api);
  await Promise.all(Array.from({ length: requestsPerRound - 1 }, () => core.listNamespace()));
  const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
  spoke.identity = review.status?.userInfo?.username ?? '?';
  const ms = since(start);
  spoke.ms += ms;
  console.log(`  ${spoke.type}: ${requestsPerRound} requests answered, as ${spoke.identity}, in ${ms.toFixed(0)} ms`);
}

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const [index, row] of rows.entries()) {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    console.log(index === 0 ? styleText('bold', line) : line);
  }
}

const spokes: Spoke[] = [];
let providers: CredentialProviders | undefined;
try {
  await mkdir(tokens);
  console.log(`Starting ${types.length} clusters: API servers in this process, each with TLS and a token of its own.`);
  for (const type of types) {
    const cluster = await FakeCluster.start({
      name: type,
      ...(type === 'google' ? { pathPrefix: '/v1/projects/123456789' } : {}),
    });
    const spoke = {
      type,
      cluster,
      profile: await readProfile(type, cluster),
      plugin: await installPlugin(type),
      identity: '',
      ms: 0,
    };
    spokes.push(spoke);
    await rotate(spoke, 1);
  }
  providers = await configure();
  console.log();
  const setUpMs = since(began);
  for (const round of rounds) {
    const what = round === 1 ? 'no credential is known yet' : 'every token has been replaced, the old ones get a 401';
    console.log(`Round ${round} of ${rounds.length}: ${what}.`);
    if (round > 1) for (const spoke of spokes) await rotate(spoke, round);
    for (const spoke of spokes) await callCluster(spoke, providers);
  }
  await report(setUpMs);
} finally {
  await providers?.close();
  await Promise.all(spokes.map(({ cluster }) => cluster.close()));
  await rm(folder, { recursive: true, force: true });
}

/** What each server saw, why it saw more requests than were asked for, and where the time went. */
async function report(setUpMs: number): Promise<void> {
  const asked = rounds.length * requestsPerRound;
  const rows = spokes.map(({ type, cluster, profile, plugin, identity, ms }) => {
    const { requests, unauthorized, connections } = cluster.stats;
    const { count, ms: pluginMs } = runsOf(type);
    const times = [`${ms.toFixed(0)} ms`, `${pluginMs.toFixed(0)} ms`];
    return [
      profile.metadata?.name ?? '?',
      type,
      plugin,
      identity,
      ...[count, asked, unauthorized, requests, connections].map(String),
      ...times,
    ];
  });
  console.log();
  printTable([
    [
      ...['CLUSTER', 'ACCESS TYPE', 'PLUGIN', 'SEEN BY THE SERVER AS', 'PLUGIN RUNS'],
      ...['REQUESTS', '401', 'SEEN', 'CONNECTIONS', 'TIME', 'IN THE PLUGIN'],
    ],
    ...rows,
  ]);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const inPlugins = sum([...runs.values()].map(({ ms }) => ms));
  const calling = sum(spokes.map(({ ms }) => ms));
  console.log(`
SEEN is REQUESTS + 401: the requests that were on their way when a token was replaced got a 401 and went out again with the
new one, so that no caller noticed. Each plugin ran once for each of its ${rounds.length} tokens, however many requests waited for it.
${seconds(since(began))} in all: ${seconds(setUpMs)} to start the clusters, ${seconds(inPlugins)} in plugins (token-folder.ts is a Node program, the others are
shell scripts), ${seconds(calling - inPlugins)} for the requests.`);
}

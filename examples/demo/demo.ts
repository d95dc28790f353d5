// Four clusters, four access types: two configured by flags, two by a provider file. Every token is rotated under way.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { AuthenticationV1Api, CoreV1Api } from '@kubernetes/client-node';
import { type Cluster, type ClusterProfile, CredentialProviders } from 'clusterprofile-credentials';
import { FakeCluster } from 'clusterprofile-credentials/testing';
import { parse } from 'yaml';

const requestsPerRound = 25;
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
  ms: number;
}

/** Wraps one of the example plugins, so that its runs can be counted. */
async function installPlugin(type: AccessType): Promise<string> {
  const plugin = type === 'secretreader' ? 'token-folder.ts' : 'token-file.sh';
  const command = join(folder, `${type}-plugin`);
  const run = plugin.endsWith('.ts') ? `exec '${process.execPath}' --disable-warning=ExperimentalWarning` : 'exec';
  await writeFile(
    command,
    `#!/bin/sh\nprintf x >> '${folder}/${type}.runs'\n${run} '${join(examples, 'plugins', plugin)}' "$@"\n`,
  );
  await chmod(command, 0o755);
  return plugin;
}

/** A token that the plugin hands out and the cluster accepts, and no other. */
async function rotate({ type, cluster }: Pick<Spoke, 'type' | 'cluster'>, round: number): Promise<void> {
  const token = `demo-${type}-${round}-${crypto.randomUUID()}`;
  await writeFile(join(tokens, type === 'secretreader' ? 'spoke-1' : type), token);
  cluster.setTokens({ [token]: `${type}:controller` });
}

/** The example profile, with the server that plays the cluster. */
async function readProfile(type: AccessType, { url, certificateAuthorityData }: FakeCluster): Promise<ClusterProfile> {
  const profile: ClusterProfile = parse(await readFile(join(examples, 'profiles', `${type}.yaml`), 'utf8'));
  const accessProviders = profile.status?.accessProviders?.map(({ name, cluster }) => {
    const filled: Cluster = { ...cluster, server: url, 'certificate-authority-data': certificateAuthorityData };
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
    '--clusterprofile-access-provider',
    `google='${folder}/google-plugin ${tokens}/google'`,
    '--clusterprofile-access-provider',
    `spire-agent='${folder}/spire-agent-plugin ${tokens}/spire-agent'`,
    '--clusterprofile-sourced-cli-args-policy',
    'spire-agent=Append',
    '--clusterprofile-provider-file',
    file,
  ];
  console.log(styleText('dim', `flags: ${flags.join(' ').replaceAll(folder, '$DEMO')}\n`));
  return CredentialProviders.fromArgs(flags);
}

async function callCluster(spoke: Spoke, providers: CredentialProviders): Promise<void> {
  const began = performance.now();
  const config = providers.getConfig(spoke.profile);
  const core = config.makeApiClient(CoreV1Api);
  await Promise.all(Array.from({ length: requestsPerRound - 1 }, () => core.listNamespace()));
  const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
  spoke.identity = review.status?.userInfo?.username ?? '?';
  spoke.ms += performance.now() - began;
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
  console.log('starting four clusters ...');
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
  for (const round of [1, 2, 3]) {
    if (round > 1) {
      console.log(`rotating every token (round ${round}) ...`);
      for (const spoke of spokes) await rotate(spoke, round);
    }
    for (const spoke of spokes) await callCluster(spoke, providers);
  }
  console.log();
  const rows = [
    ['CLUSTER', 'ACCESS TYPE', 'PLUGIN', 'SEEN BY THE SERVER AS', 'PLUGIN RUNS', 'REQUESTS', 'CONNECTIONS', 'TIME'],
  ];
  for (const { type, cluster, profile, plugin, identity, ms } of spokes) {
    const runs = (await readFile(join(folder, `${type}.runs`), 'utf8')).length;
    const { requests, connections } = cluster.stats;
    const name = profile.metadata?.name ?? '?';
    rows.push([
      name,
      type,
      basename(plugin),
      identity,
      String(runs),
      String(requests),
      String(connections),
      `${ms.toFixed(0)} ms`,
    ]);
  }
  printTable(rows);
  console.log(
    `\nEach plugin ran once for each of its 3 tokens; ${3 * requestsPerRound} requests a cluster were asked for, none failed.`,
  );
} finally {
  await providers?.close();
  await Promise.all(spokes.map(({ cluster }) => cluster.close()));
  await rm(folder, { recursive: true, force: true });
}

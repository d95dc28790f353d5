/** `publish`: makes ClusterProfiles of the contexts of a kubeconfig, or of the clusters of Cluster API. */

import { isLabel, parseDuration, printable } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { openHub } from '../hub.ts';
import { homeOf } from '../profiles.ts';
import { Publisher, type Result, type RoundResult } from '../publish/round.ts';
import { fullName, type ServiceAccount, type Settings } from '../publish/source.ts';
import { formatTable, printData } from '../table.ts';
import type { Call, Options } from '../verb.ts';

const defaultManager = 'clusterprofile-publish';
const defaultLifetime = '720h';
/** The shortest that an API server gives. */
const leastLifetimeMs = 600_000;
const mostLifetimeMs = 365 * 86_400_000;

export async function run(call: Call): Promise<ExitCode> {
  const { options, signal } = call;
  const settings = await readSettings(call);
  const hub = await openHub(call);
  const publisher = new Publisher(hub, settings);
  if (options.has('watch')) {
    const { watchSource } = await import('../publish/watch.ts');
    return watchSource(call, publisher, (round) => show(call, round));
  }
  const round = await publisher.round(signal);
  await show(call, round);
  return round.refused.length > 0 ? exitCodes.profile : exitCodes.ok;
}

async function readSettings(call: Call): Promise<Settings> {
  const { options } = call;
  refuseOptions(options);
  const providerFile = options.text('providers');
  if (providerFile === undefined) {
    throw Failure.usage('the provider file is missing', 'name it with --providers FILE: it is written, or added to');
  }
  const clusterManager = options.text('cluster-manager') ?? defaultManager;
  if (!isLabel(clusterManager)) {
    const hint = 'write a to z, digits and -, 63 characters at most: it becomes a label';
    throw Failure.usage(`--cluster-manager ${clusterManager} is no name`, hint);
  }
  const serviceAccount = readServiceAccount(options);
  const namespace = await homeOf(call);
  return {
    kubeconfig: options.texts('from-kubeconfig')[0],
    patterns: options.texts('context'),
    namespace,
    providerFile,
    force: options.has('force'),
    secretsNamespace: options.text('write-secrets') ?? (serviceAccount ? namespace : undefined),
    serviceAccount,
    allowInsecureTls: options.has('allow-insecure-tls'),
    clusterManager,
    namePattern: options.text('name-pattern'),
    prune: options.has('prune'),
    isWatch: options.has('watch'),
    isDryRun: options.has('dry-run'),
    skipsHealth: options.has('skip-health'),
  };
}

/** Throws a `Failure` for options that do not go together. */
function refuseOptions(options: Options): void {
  const isClusterApi = options.has('from-cluster-api');
  const isAll = options.has('all-namespaces');
  const isWatch = options.has('watch');
  const format = options.text('output');
  const leaveOut = 'leave it out';
  const problems: readonly (readonly [isWrong: boolean, message: string, hint: string])[] = [
    [
      // Of two kubeconfigs, --prune would delete the ClusterProfiles of the one that is not read.
      options.texts('from-kubeconfig').length + Number(isClusterApi) !== 1,
      'publish needs one source',
      'give --from-kubeconfig FILE or --from-cluster-api, once: two sources need two --cluster-manager',
    ],
    ...['context', 'write-secrets', 'service-account'].map(
      (name) => [isClusterApi && options.isGiven(name), `--${name} is for --from-kubeconfig`, leaveOut] as const,
    ),
    [isAll && !isClusterApi, '-A is for --from-cluster-api', 'name the namespace of the ClusterProfiles with -n'],
    [isAll && options.isGiven('namespace'), '-A and -n contradict each other', 'give one of the two'],
    ...['interval', 'metrics-port'].map(
      (name) => [!isWatch && options.isGiven(name), `--${name} is for --watch`, leaveOut] as const,
    ),
    [isWatch && format !== undefined, `--watch and -o ${format} contradict each other`, 'leave one of the two out'],
    [isWatch && options.has('dry-run'), '--watch and --dry-run contradict each other', 'leave one of the two out'],
  ];
  for (const [isWrong, message, hint] of problems) if (isWrong) throw Failure.usage(message, hint);
}

function readServiceAccount(options: Options): ServiceAccount | undefined {
  const text = options.text('service-account');
  const clusterRole = options.text('cluster-role');
  const lifetime = options.text('token-lifetime');
  if (text === undefined) {
    if (clusterRole === undefined && lifetime === undefined) return undefined;
    throw Failure.usage('--cluster-role and --token-lifetime are for --service-account', 'name it too');
  }
  if (clusterRole === undefined) {
    throw Failure.usage('--service-account needs a role', 'name a ClusterRole of the clusters with --cluster-role');
  }
  const [name = '', namespace = 'kube-system'] = text.split('/').reverse();
  if (!isLabel(name) || !isLabel(namespace) || text.split('/').length > 2) {
    throw Failure.usage(`--service-account ${text}: must be NAME or NAMESPACE/NAME`);
  }
  const lifetimeMs = parseDuration(lifetime ?? defaultLifetime) ?? 0;
  if (lifetimeMs < leastLifetimeMs || lifetimeMs > mostLifetimeMs) {
    throw Failure.usage(`--token-lifetime ${lifetime}: must be a duration from 10m to 8760h`);
  }
  return { namespace, name, clusterRole, lifetimeMs };
}

/** Prints a round: results on stdout, problems on stderr. */
async function show(call: Call, round: RoundResult): Promise<void> {
  const { terminal, options } = call;
  const { results } = round;
  const format = options.text('output');
  const nameOf = ({ profile }: Result) => fullName(profile.metadata);
  if (format === 'name') {
    await terminal.write(results.map((result) => `${nameOf(result)}\n`).join(''));
  } else if (!(await printData(call, () => dataOf(round)))) {
    const done = (what: string) => (options.has('dry-run') ? `would be ${what}` : what);
    const file = options.text('providers') ?? '';
    const providers = round.providersChanged;
    const rows = [
      ...results.map((result) => [`clusterprofile ${nameOf(result)}`, result.change, lineOf(result)]),
      ...(providers.length === 0 ? [] : [[file, done('written'), providers.join(', ')]]),
      ...round.pruned.map((name) => [`clusterprofile ${name}`, done('deleted'), 'its cluster has left the source']),
    ];
    const columns = [0, 1, 2].map((index) => ({ title: '', value: (row: readonly string[]) => row[index] ?? '' }));
    await terminal.write(formatTable(terminal, columns, rows, { headers: false, wide: false }).text);
  }
  const note = (text: string) => terminal.tell('note:', 'yellow', text);
  for (const text of round.notes) await note(printable(text, 4_096));
  if (round.vanished.length > 0 && !options.has('prune')) {
    const [first = '', ...more] = round.vanished;
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    const advice = '--prune deletes what has left it; what is of another source needs another --cluster-manager';
    await note(`${printable(first, 256)}${others}: not in this source: ${advice}`);
  }
  for (const { origin, message } of round.refused) {
    await terminal.tell('not published:', 'red', `${printable(origin, 1_024)}: ${message}`);
  }
}

/** `kubelogin, https://prod-eu.example.dev:6443, healthy, v1.36.3`. */
function lineOf({ profile: { status }, health }: Result): string {
  const [entry] = status.accessProviders;
  const words = { True: 'healthy', False: 'unhealthy', Unknown: 'unknown' };
  const state = health && (health.status === 'True' ? words.True : `${words[health.status]}: ${health.reason}`);
  return [entry?.name, entry?.cluster?.server, state, status.version?.kubernetes]
    .filter((part) => part !== undefined)
    .join(', ');
}

/** What `-o json` prints. */
function dataOf({ results, providers, refused, vanished }: RoundResult): object {
  return {
    items: results.map(({ profile }) => profile),
    providers,
    notPublished: refused.map(({ origin, message }) => ({ origin, message })),
    vanished,
  };
}

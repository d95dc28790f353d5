/** `publish`: makes ClusterProfiles of the contexts of a kubeconfig, or of the clusters of Cluster API; with `--watch` in rounds, with metrics. */
import { isLabel, parseDuration, printable } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { openHub } from '../hub.ts';
import { durationOf } from '../input.ts';
import { homeOf } from '../profiles.ts';
import { Publisher, type Result, type RoundResult } from '../publish/round.ts';
import { fullName, type ServiceAccount, type Settings } from '../publish/source.ts';
import { formatTable, print } from '../table.ts';
import type { Call, Options } from '../verb.ts';

const defaultManager = 'clusterprofile-publish';
const defaultLifetime = '720h';
/** The shortest that an API server gives. */
const leastLifetimeMs = 600_000;
const mostLifetimeMs = 365 * 86_400_000;

export async function run(call: Call): Promise<ExitCode> {
  const settings = await readSettings(call);
  const hub = await openHub(call);
  const publisher = new Publisher(hub, settings);
  if (settings.isWatch) return watchSource(call, publisher);
  const round = await publisher.round(call.signal);
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
  const nameOf = ({ profile }: Result) => fullName(profile.metadata);
  const text = () => {
    const done = (what: string) => (options.has('dry-run') ? `would be ${what}` : what);
    const file = options.text('providers') ?? '';
    const providers = round.providersChanged;
    const rows = [
      ...results.map((result) => [`clusterprofile ${nameOf(result)}`, result.change, lineOf(result)]),
      ...(providers.length === 0 ? [] : [[file, done('written'), providers.join(', ')]]),
      ...round.pruned.map((name) => [`clusterprofile ${name}`, done('deleted'), 'its cluster has left the source']),
    ];
    const columns = [0, 1, 2].map((index) => ({ title: '', value: (row: readonly string[]) => row[index] ?? '' }));
    return formatTable(terminal, columns, rows, { headers: false, wide: false }).text;
  };
  await print(call, dataOf(round), text, results.map(nameOf));
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

/** Prints what changes, and what is wrong once. */
async function watchSource(call: Call, publisher: Publisher): Promise<ExitCode> {
  const { signal, terminal, options } = call;
  const intervalMs = durationOf('--interval', options.text('interval') ?? '60s');
  const port = options.text('metrics-port');
  const metrics = new Metrics();
  if (port !== undefined) await terminal.say(`metrics on port ${await serve(metrics, port, signal)}`);
  let said: string | undefined;
  const { repeat } = await import('../watch.ts');
  await repeat(call, intervalMs, async () => {
    const round = await publisher.round(signal).catch((error: unknown) => {
      metrics.failed();
      throw error;
    });
    metrics.add(round);
    const complaints = complaintsOf(round);
    const results = said === undefined ? round.results : round.results.filter(({ change }) => change !== 'unchanged');
    const known = complaints === said ? { refused: [], notes: [], vanished: [] } : {};
    said = complaints;
    await show(call, { ...round, results, ...known });
  });
  return exitCodes.interrupted;
}

function complaintsOf({ refused, notes, vanished }: RoundResult): string {
  return JSON.stringify([refused.map(({ origin, message }) => [origin, message]), notes, vanished]);
}

/** In the text format of Prometheus: five numbers need no library. */
class Metrics {
  #last: RoundResult | undefined;
  #writes = 0;
  #failures = 0;
  #endedAt = 0;

  add(round: RoundResult): void {
    this.#last = round;
    this.#writes += round.results.filter(({ change }) => change !== 'unchanged').length;
    this.#endedAt = Date.now() / 1_000;
  }

  failed(): void {
    this.#failures += 1;
  }

  get text(): string {
    const { results = [], refused = [] } = this.#last ?? {};
    const count = (healthy: string) => results.filter(({ health }) => health?.status === healthy).length;
    const clusters = ['True', 'False', 'Unknown'].map((healthy) => [`{healthy="${healthy}"}`, count(healthy)] as const);
    const metric = (name: string, type: string, help: string, values: readonly (readonly [string, number])[]) => {
      const full = `clusterprofile_publish_${name}`;
      const lines = values.map(([labels, value]) => `${full}${labels} ${value}\n`);
      return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
    };
    return [
      metric('clusters', 'gauge', 'Published clusters, by the status of ControlPlaneHealthy', clusters),
      metric('refused_clusters', 'gauge', 'Clusters that cannot be published', [['', refused.length]]),
      metric('writes_total', 'counter', 'ClusterProfiles that were created or updated', [['', this.#writes]]),
      metric('failed_rounds_total', 'counter', 'Rounds that failed as a whole', [['', this.#failures]]),
      metric('last_round_timestamp_seconds', 'gauge', 'When the last good round ended', [['', this.#endedAt]]),
    ].join('');
  }
}

/** Serves `/metrics` and `/healthz` until the signal aborts. Returns the port. */
async function serve(metrics: Metrics, port: string, signal: AbortSignal): Promise<number> {
  const { createServer } = await import('node:http');
  const server = createServer(({ url }, response) => {
    if (url !== '/metrics' && url !== '/healthz') return void response.writeHead(404).end();
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    response.end(url === '/metrics' ? metrics.text : 'ok');
  });
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 65_536;
  if (number > 65_535) throw Failure.usage(`--metrics-port ${port}: must be a port`);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(Failure.usage(`--metrics-port ${port}: ${error.message}`)));
    server.listen(number, resolve);
  });
  signal.addEventListener('abort', () => server.close(), { once: true });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : number;
}

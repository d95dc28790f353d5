// One controller, a hub and twelve fake clusters. One of them is dead, one is slow, one changes its token, one goes and comes back.
//
//   npm run demo -- fleet [--seconds 60]
import { type AddressInfo, connect, createServer } from 'node:net';
import { parseArgs, styleText } from 'node:util';
import { CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import { Fleet, type KubernetesObject } from 'clusterprofile-credentials/fleet';
import { FakeCluster, writePlugin } from 'clusterprofile-credentials/testing';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } });
const live = process.stdout.isTTY;
const profileKind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' };
const began = performance.now();
const seconds = () => ((performance.now() - began) / 1_000).toFixed(1).padStart(5);

/** What is shown of each cluster beside its state. */
interface Row {
  readonly note: string;
  objects: number;
  reconciles: number;
  /** Milliseconds from the last change to the end of its reconcile. */
  latency: number;
}

interface Note extends KubernetesObject {
  readonly data?: { readonly writtenAt?: string };
}

/** Makes a second address for a server. Answers through it come late. */
async function slowDown(url: string, ms: number) {
  const { hostname, port } = new URL(url);
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    client.pipe(server);
    server.on('data', (data) => setTimeout(() => client.writable && client.write(data), ms));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => {}).on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port: slowPort } = proxy.address() as AddressInfo; // it listens on TCP
  return { url: `https://127.0.0.1:${slowPort}`, close: () => proxy.close() };
}

const hub = await FakeCluster.start({ tokens: { hub: 'controller' } });
const [steady, rotating] = [await writePlugin({ token: 'steady' }), await writePlugin({ token: 'rotating-0' })];
const spokes = new Map<string, FakeCluster>();
const rows = new Map<string, Row>();
const ends: (() => unknown)[] = [];

function publish(name: string, access: string, server: string, certificateAuthorityData: string): void {
  const cluster = { server, 'certificate-authority-data': certificateAuthorityData };
  const status = { accessProviders: [{ name: access, cluster }] };
  hub.set({
    ...profileKind,
    metadata: { namespace: 'fleet', name },
    spec: { clusterManager: { name: 'demo' } },
    status,
  });
}

const notes: Readonly<Record<string, string>> = {
  'cluster-03': 'dead: takes connections, answers nothing',
  'cluster-05': 'slow: every answer takes 400 ms longer',
  'cluster-07': 'its token rotates every 3 s',
  'cluster-09': 'its profile goes and comes back',
};
for (let i = 1; i <= 12; i++) {
  const name = `cluster-${String(i).padStart(2, '0')}`;
  const spoke = await FakeCluster.start({ name, tokens: { steady: 'controller', 'rotating-0': 'controller' } });
  spokes.set(name, spoke);
  rows.set(name, { note: notes[name] ?? '', objects: 0, reconciles: 0, latency: 0 });
  let server = spoke.url;
  if (name === 'cluster-03') spoke.failNext('hang', 1_000_000);
  if (name === 'cluster-05') {
    const slow = await slowDown(server, 400);
    ends.push(slow.close);
    server = slow.url;
  }
  publish(name, name === 'cluster-07' ? 'rotating' : 'steady', server, spoke.certificateAuthorityData);
}

const kubeconfig = {
  clusters: [{ name: 'hub', cluster: { server: hub.url, 'certificate-authority-data': hub.certificateAuthorityData } }],
  users: [{ name: 'hub', user: { token: 'hub' } }],
  contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
  'current-context': 'hub',
};
const v1 = 'client.authentication.k8s.io/v1';
const providers = new CredentialProviders(
  [
    { name: 'steady', execConfig: { apiVersion: v1, command: steady.command } },
    { name: 'rotating', execConfig: { apiVersion: v1, command: rotating.command } },
  ],
  { logger: { warn: () => {} } },
);
const fleet = new Fleet({
  hub: RestConfig.fromKubeConfig({ text: JSON.stringify(kubeconfig) }),
  providers,
  engageTimeoutMs: 5_000,
  logger: { warn: (_fields, message) => live || console.log(`${seconds()} s  ${message}`) },
});
fleet.onEngage(({ name, signal }) => {
  if (live) return;
  console.log(`${seconds()} s  ${name} is in use`);
  signal.addEventListener('abort', () => console.log(`${seconds()} s  ${signal.reason.message}`));
});
fleet.controller<Note>({
  name: 'demo',
  for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
  reconcile: (_request, { cluster, object }) => {
    const row = rows.get(cluster.profile.metadata.name);
    if (!row) return;
    row.reconciles += 1;
    row.objects = cluster.informer({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' }).list().length;
    if (object?.data?.writtenAt) row.latency = performance.now() - Number(object.data.writtenAt);
  },
});

/** The table: one line for each cluster. */
function table(): string {
  const listing = new Map(fleet.list().map((entry) => [entry.name, entry]));
  const colours = { Engaged: 'green', Backoff: 'red', Engaging: 'yellow' } as const;
  const lines = [...rows].map(([name, { objects, reconciles, latency, note }]) => {
    const { state = 'absent', reason = '' } = listing.get(`fleet/${name}`) ?? {};
    const colour = state in colours ? colours[state as keyof typeof colours] : 'gray'; // looked up just before
    const cells = [name.padEnd(12), styleText(colour, state.padEnd(9)), reason.padEnd(26), String(objects).padStart(7)];
    return [
      ...cells,
      String(reconciles).padStart(10),
      `${latency.toFixed(0)} ms`.padStart(9),
      styleText('dim', ` ${note}`),
    ].join(' ');
  });
  const head = 'CLUSTER      STATE     REASON                     OBJECTS RECONCILES   LATENCY';
  return [styleText('bold', head), ...lines].join('\n');
}

function draw(): void {
  process.stdout.write(`\u001b[H\u001b[J${table()}\n\n${seconds()} s of ${values.seconds}; Ctrl-C ends it\n`);
}

let written = 0;
let turn = 0;
const timers = [
  setInterval(() => {
    // One cluster has most of the work. The others do not wait for it.
    const names = [...spokes.keys()];
    turn += 1;
    for (const name of ['cluster-01', 'cluster-01', 'cluster-01', names[turn % names.length] ?? '']) {
      written += 1;
      const data = { writtenAt: String(performance.now()) };
      spokes.get(name)?.set({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `map-${written % 40}` }, data });
    }
  }, 50),
  setInterval(async () => {
    const token = `rotating-${written}`;
    await rotating.answer({ token });
    spokes.get('cluster-07')?.setTokens({ [token]: 'controller' });
  }, 3_000),
  setInterval(() => {
    const spoke = spokes.get('cluster-09');
    const metadata = { namespace: 'fleet', name: 'cluster-09' };
    if (hub.get({ ...profileKind, metadata })) hub.delete({ ...profileKind, metadata });
    else if (spoke) publish('cluster-09', 'steady', spoke.url, spoke.certificateAuthorityData);
  }, 4_000),
  ...(live ? [setInterval(draw, 250)] : []),
];

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
timers.push(setTimeout(() => stop.abort(), Number(values.seconds) * 1_000));
const running = fleet.run({ signal: stop.signal });
let last = '';
stop.signal.addEventListener('abort', () => {
  last = table();
  for (const timer of timers) clearInterval(timer);
});
await running;
if (live) process.stdout.write('\u001b[H\u001b[J');
console.log(`${last}\n\nin the end ${fleet.list().length} clusters are in use`);
for (const end of ends) end();
await providers.close();
await Promise.all([hub, ...spokes.values()].map((cluster) => cluster.close()));
await Promise.all([steady, rotating].map((plugin) => plugin.remove()));

// What a request costs: the first ones, many, and those during a rotation.
import { CoreV1Api } from '@kubernetes/client-node';
import { CredentialProviders } from '../../src/index.ts';
import { FakeCluster, type TestPlugin, writePlugin } from '../../src/testing/index.ts';
import {
  type BarePeer,
  type BenchCluster,
  bareUndici,
  execAuth,
  ourDispatcher,
  ours,
  type Peer,
  startCluster,
  staticToken,
} from './peers.ts';
import { heading, median, report, time } from './report.ts';

export async function firstRequests(plugin: TestPlugin): Promise<void> {
  heading('(a) 50 concurrent first requests');
  for (const start of [ours, execAuth]) {
    const cluster = await startCluster();
    const peer = start(cluster, plugin);
    const before = await plugin.runs();
    await Promise.all(Array.from({ length: 50 }, () => peer.core.listNamespace()));
    report(`${peer.name}: plugin runs`, (await plugin.runs()) - before, 'runs');
    report(`${peer.name}: connections`, await cluster.connections(), 'connections');
    await peer.close();
    cluster.close();
  }
}

interface Round {
  readonly seconds: number;
  readonly cpu: number;
}

type Rival = Peer | BarePeer;

async function measure(peer: Rival, requests: number, workers: number): Promise<Round> {
  const send = 'send' in peer ? peer.send : () => peer.core.listNamespace();
  const worker = async () => {
    for (let i = 0; i < requests / workers; i++) await send();
  };
  const used = process.cpuUsage();
  const ms = await time(() => Promise.all(Array.from({ length: workers }, worker)));
  const { user, system } = process.cpuUsage(used);
  return { seconds: ms / 1000 / requests, cpu: (user + system) / requests };
}

/** Rounds in turn, so that a machine that changes its speed changes it for all; ratios are taken round by round. */
async function compare(
  peers: readonly Rival[],
  floorPeer: Rival,
  rounds: number,
  requests: number,
  workers: number,
): Promise<void> {
  const results = new Map<Rival, Round[]>(peers.map((peer) => [peer, []]));
  const countFor = ({ name }: Rival) => (name.includes('ExecAuth') ? Math.ceil(requests / 10) : requests);
  // The compiler needs a few thousand requests before the figures stand still.
  for (const peer of peers) await measure(peer, countFor(peer) * 10, workers);
  for (let round = 0; round < rounds; round++) {
    for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
      results.get(peer)?.push(await measure(peer, countFor(peer), workers));
    }
  }
  const floor = results.get(floorPeer) ?? [];
  for (const [{ name }, each] of results) {
    const ratioOf = (of: (round: Round) => number) =>
      median(each.map((round, index) => of(round) / of(floor[index] ?? round)));
    const rate = 1 / median(each.map(({ seconds }) => seconds));
    const peer = floorPeer.name;
    report(`${name}: requests per second`, rate, 'requests/s', {
      ratio: 1 / ratioOf(({ seconds }) => seconds),
      peer,
    });
    const cpu = median(each.map((round) => round.cpu));
    report(`${name}: client CPU per request`, cpu, 'us', { ratio: ratioOf((round) => round.cpu), peer });
  }
}

export async function requests(cluster: BenchCluster, plugin: TestPlugin): Promise<void> {
  const floor = staticToken(cluster, 'undici.request');
  const peers = [ours(cluster, plugin), floor, staticToken(cluster, 'fetch'), execAuth(cluster, plugin)];
  heading('(b) requests one after the other');
  await compare(peers, floor, 15, 500, 1);
  heading('(b) requests of 32 callers');
  await compare(peers, floor, 15, 3_200, 32);
  await Promise.all(peers.map((peer) => peer.close()));

  heading('(b) requests of 32 callers through config.dispatcher');
  const bare = bareUndici(cluster);
  const direct = ourDispatcher(cluster, plugin);
  await compare([direct, bare], bare, 15, 3_200, 32);
  await Promise.all([direct.close(), bare.close()]);
}

export async function rotation(): Promise<void> {
  heading('(h) 32 callers while the client certificate is rotated 100 times');
  const cluster = await FakeCluster.start();
  const plugin = await writePlugin();
  const rotate = async (commonName: string) => {
    const { certificate, key } = cluster.certificateAuthority.issue({ commonName, client: true });
    await plugin.answer({ clientCertificateData: certificate, clientKeyData: key });
  };
  await rotate('0');
  const providers = new CredentialProviders([
    { name: 'x', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } },
  ]);
  const { url: server, certificateAuthorityData } = cluster;
  const config = providers.getConfig({
    metadata: { name: 'x' },
    status: {
      accessProviders: [{ name: 'x', cluster: { server, 'certificate-authority-data': certificateAuthorityData } }],
    },
  });
  const core = config.makeApiClient(CoreV1Api);
  let stopped = false;
  let [answered, failed] = [0, 0];
  const worker = async () => {
    while (!stopped) {
      await core.listNamespace().then(
        () => answered++,
        () => failed++,
      );
    }
  };
  const workers = Array.from({ length: 32 }, worker);
  for (let i = 1; i <= 100; i++) {
    await rotate(String(i));
    config.invalidate();
    await config.ready();
  }
  stopped = true;
  await Promise.all(workers);
  report('requests answered', answered, 'requests');
  report('requests failed', failed, 'requests');
  await providers.close();
  await cluster.close();
  await plugin.remove();
}

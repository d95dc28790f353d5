// A fleet with a hub of its own, in a process of its own: replica.ts faulty|calm. Says how long each change took to its reconcile.
// `bad` clusters are engaged and not waited for.
import { once } from 'node:events';
import { byName, Fleet, type KubernetesObject } from '../../../src/fleet/index.ts';
import { CredentialProviders } from '../../../src/index.ts';
import { FakeCluster, writePlugin } from '../../../src/testing/index.ts';
import { restConfigFor } from '../../fixtures/fleet-hub.ts';
import { profileOf } from '../../fixtures/operated-fleet.ts';
import { type Address, startDead } from './dead-servers.ts';

export type Order =
  | { readonly engage: readonly Address[]; readonly bad?: readonly Address[] }
  | { readonly restartHub: true }
  /** Wait for the reconciles of so many changes, then end. */
  | { readonly finish: number };
export type Report =
  | { readonly engaged: number }
  /** Milliseconds by the name of the change, of those that were reconciled. */
  | { readonly latencies: Readonly<Record<string, number>> };

interface Note extends KubernetesObject {
  readonly data?: { readonly writtenAt?: string };
}

const isFaulty = process.argv[2] === 'faulty';
/** Milliseconds after which a change that has not been reconciled is lost. */
const patienceMs = 30_000;
const say = (report: Report) => process.send?.(report);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const hub = await FakeCluster.start({ tokens: { hub: 'me' } });
const plugins = await Promise.all([
  writePlugin({ token: 'bench-token' }),
  writePlugin({ token: 'good' }),
  writePlugin({ exitCode: 1, stderr: 'the issuer is away' }),
  writePlugin({ token: 'good', delayMs: 3_600_000 }),
]);
const execConfig = (command: string) => ({ apiVersion: 'client.authentication.k8s.io/v1', command }) as const;
const providers = new CredentialProviders(
  plugins.map(({ command }, index) => ({ name: `p${index}`, execConfig: execConfig(command) })),
  { logger: { warn: () => {} } },
);
const dead = await startDead();
const logger = { warn: () => {} };
// Several names may be of one server.
const fleet = new Fleet({ hub: restConfigFor(hub, 'hub'), providers, identify: byName, logger });
const latencies = new Map<string, number>();
fleet.controller<Note>({
  name: 'faults',
  for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
  reconcile: ({ name }, { object }) => {
    const writtenAt = object?.data?.writtenAt;
    if (writtenAt !== undefined && !latencies.has(name)) latencies.set(name, Date.now() - Number(writtenAt));
  },
});
const running = fleet.run();

function publish(name: string, provider: string, { url: server, certificateAuthorityData }: Address): void {
  hub.set(profileOf(name, provider, { server, 'certificate-authority-data': certificateAuthorityData }));
}

async function engage(good: readonly Address[], bad: readonly Address[]): Promise<void> {
  for (const [index, address] of bad.entries()) publish(`bad-${index}`, 'p0', address);
  for (const [index, address] of good.entries()) publish(`good-${index}`, 'p0', address);
  if (isFaulty) {
    for (const [index, address] of dead.addresses.entries()) publish(`dead-${index}`, 'p1', address);
    for (const [index, address] of good.slice(0, 10).entries())
      publish(`plugin-${index}`, index % 2 === 0 ? 'p2' : 'p3', address);
  }
  const engaged = () => fleet.list().filter(({ name, state }) => name.includes('/good-') && state === 'Engaged').length;
  while (engaged() < good.length) await pause(50);
  say({ engaged: engaged() });
}

async function finish(changes: number): Promise<void> {
  const until = performance.now() + patienceMs;
  while (latencies.size < changes && performance.now() < until) await pause(20);
  await fleet.close();
  await running;
  await providers.close();
  await dead.close();
  await hub.close();
  await Promise.all(plugins.map((plugin) => plugin.remove()));
  say({ latencies: Object.fromEntries(latencies) });
  process.disconnect();
}

process.on('message', async (message) => {
  const order = message as Order; // the only thing that fleet.ts sends
  if ('engage' in order) await engage(order.engage, order.bad ?? []);
  else if ('finish' in order) await finish(order.finish);
  else await hub.restart();
});
await once(process, 'disconnect');
process.exit();

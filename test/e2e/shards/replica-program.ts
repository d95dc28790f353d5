// What the programs of replicas have in common: they are started with KUBECONFIG COMMAND IDENTITY DURATION_MS, say what becomes of
// their shards, and leave on SIGTERM.
import { subscribe } from 'node:diagnostics_channel';
import { Fleet } from '../../../src/fleet/index.ts';
import { CredentialProviders, type Provider, RestConfig } from '../../../src/index.ts';

const [, , kubeconfig = '', command = '', identity = '', durationMs = ''] = process.argv;

/** What the program was started with. */
export const given = { command, identity } as const;

const say = (line: object) => console.log(JSON.stringify(line));

/** Runs a replica until SIGTERM. `work` registers what it does. */
export async function runReplica(accessProviders: readonly Provider[], work: (fleet: Fleet) => void): Promise<void> {
  const logger = { warn: (_fields: object, warning: string) => say({ warning }) };
  const providers = new CredentialProviders(accessProviders, { logger });
  const fleet = new Fleet({
    hub: RestConfig.fromKubeConfig({ path: kubeconfig }),
    providers,
    namespaces: ['default'],
    logger,
    sharding: { namespace: 'default', name: 'e2e', identity, leaseDurationMs: Number(durationMs) },
  });
  work(fleet);
  subscribe('clusterprofile-credentials:fleet-shard', (event) => say({ ...Object(event) }));
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  await fleet.run({ signal: stop.signal });
  await providers.close();
  // The careless loops.
  process.exit(0);
}

/** Sends a request again and again, and for a while after it is refused: none of that may arrive once its shard is another's. */
export function sendCarelessly(send: () => Promise<unknown>, periodMs: number): void {
  let refused = 0;
  const careless = setInterval(() => {
    send().catch(() => {
      refused += 1;
      if (refused === 10) clearInterval(careless);
    });
  }, periodMs);
}

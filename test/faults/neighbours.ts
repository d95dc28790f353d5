import assert from 'node:assert/strict';
import { CoreV1Api } from '@kubernetes/client-node';
import { CredentialProviders } from '../../src/index.ts';
import { writePlugin } from '../../src/testing/index.ts';
import { startDead } from './fleet/dead-servers.ts';
import { Pairs } from './pairs.ts';
import { healthyProvider, Neighbour } from './transport/neighbour.ts';

const token = 'token-1';
/** What nobody waits for who does not wait for a dead cluster: 95 of 100 requests end within so many times their peers' time. */
const most = 3;

/**
 * How long requests to three healthy clusters take while four times as many callers wait for clusters that are dead. Each has a
 * peer, a request of undici alone to the same cluster at the same moment. Gives a line with the ratios.
 */
export async function measureNeighbours(): Promise<string> {
  const plugin = await writePlugin({ token });
  const neighbours = await Promise.all([1, 2, 3].map(() => Neighbour.start(token)));
  const dead = await startDead();
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } as const;
  const providers = new CredentialProviders([{ name: healthyProvider, execConfig }], {
    connectTimeoutMs: 500,
    logger: { warn: () => undefined },
  });
  // One that refuses connections, and one that takes them and says nothing.
  const [refusing, , silent] = dead.addresses;
  const lost = [refusing, silent].map((address) => {
    const cluster = { server: address?.url ?? assert.fail() };
    const config = providers.getConfig({ status: { accessProviders: [{ name: healthyProvider, cluster }] } });
    return config.makeApiClient(CoreV1Api);
  });
  const round = async () => {
    const pairs = new Pairs();
    await Promise.all(neighbours.map((neighbour) => neighbour.ask(providers, () => pairs.count >= 600, pairs)));
    return pairs;
  };
  try {
    await round();
    const alone = await round();
    let over = false;
    let failed = 0;
    const waiting = Array.from({ length: 12 }, async (_, index) => {
      while (!over) {
        await assert.rejects(lost[index % lost.length]?.listNamespace() ?? Promise.reject(), {
          name: 'ConnectionError',
        });
        failed += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    const beside = await round();
    over = true;
    await Promise.all(waiting);
    const times = (pairs: Pairs) => `${pairs.ratio(0.5).toFixed(2)} (95 %: ${pairs.ratio(0.95).toFixed(2)})`;
    const line =
      `beside 12 callers of dead clusters (${failed} failures) requests to healthy ones took ${times(beside)} ` +
      `of bare undici's time, without them ${times(alone)}`;
    assert.ok(failed > 0 && beside.ratio(0.95) < most, line);
    return line;
  } finally {
    await providers.close();
    await Promise.all([...neighbours, dead].map((one) => one.close()));
    await plugin.remove();
  }
}

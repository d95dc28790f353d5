// A healthy cluster beside the hostile ones, in the same instance: how long requests to it take, beside bare undici's.
import { setTimeout as pause } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import type { ClusterProfile, CredentialProviders } from '../../../src/index.ts';
import { FakeCluster } from '../../../src/testing/index.ts';
import { Pairs } from '../pairs.ts';

/** The name of its access type: what becomes of the others' credential is not its concern. */
export const healthyProvider = 'healthy';

export class Neighbour {
  readonly pairs = new Pairs();
  readonly #cluster: FakeCluster;
  readonly #token: string;
  /** Its connection stays: whoever looks for what is left over has seen it before. */
  readonly #bare = new Agent({ allowH2: true, connect: { rejectUnauthorized: false }, keepAliveTimeout: 600_000 });

  private constructor(cluster: FakeCluster, token: string) {
    this.#cluster = cluster;
    this.#token = token;
  }

  static async start(token: string): Promise<Neighbour> {
    const neighbour = new Neighbour(await FakeCluster.start({ tokens: { [token]: 'me' } }), token);
    await neighbour.#askBare();
    return neighbour;
  }

  /** Asks, again and again, until it is over. What it cannot do because the instance was closed ends it too. */
  async ask(providers: CredentialProviders, isOver: () => boolean): Promise<void> {
    const { url: server, certificateAuthorityData } = this.#cluster;
    const cluster = { server, 'certificate-authority-data': certificateAuthorityData };
    const profile: ClusterProfile = {
      metadata: { name: 'healthy', namespace: 'fleet' },
      status: { accessProviders: [{ name: healthyProvider, cluster }] },
    };
    const config = providers.getConfig(profile);
    const core = config.makeApiClient(CoreV1Api);
    const ask = () =>
      core.listNamespace().catch((error: unknown) => {
        // On a busy machine the peer is late, too: how long it took counts.
        if (!/^(?:RESPONSE|CONNECT)_TIMEOUT$/.test(Object(error).code)) throw error;
      });
    try {
      // The first one runs the plugin, and opens the connection.
      await ask();
      while (!isOver()) {
        await this.pairs.sample(ask, () => this.#askBare());
        await pause(10);
      }
    } catch (error) {
      if (Object(error).code !== 'CONFIG_CLOSED') throw error;
    }
  }

  async #askBare(): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}` };
    const answer = await request(`${this.#cluster.url}/api/v1/namespaces`, { dispatcher: this.#bare, headers });
    await answer.body.json();
  }

  async close(): Promise<void> {
    await this.#bare.destroy();
    await this.#cluster.close();
  }
}

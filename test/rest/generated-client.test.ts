import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type ApiException,
  CoreV1Api,
  KubeConfig,
  Observable,
  type ObservableMiddleware,
} from '@kubernetes/client-node';
import type { RestConfig } from '../../src/index.ts';
import type { FakeCluster } from '../../src/testing/index.ts';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';

/** The same config on client-node's own library. */
function onFetch(config: RestConfig): CoreV1Api {
  return KubeConfig.prototype.makeApiClient.call(config, CoreV1Api) as CoreV1Api; // `call` loses the type parameter
}

async function outcome(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call() };
  } catch (error) {
    assert.ok(error instanceof Error);
    const { code, body, headers } = error as ApiException<unknown>; // undefined for every other error
    // Ours says which cluster it is, and why.
    const { date: _, connection: __, 'keep-alive': ___, 'clusterprofile-credentials': ____, ...same } = headers ?? {};
    const cause = error.cause instanceof Error ? [error.cause.name, error.cause.message] : error.cause;
    return { name: error.name, message: code === undefined ? error.message : code, body, same, cause };
  }
}

const list = (core: CoreV1Api) => core.listNamespace();
type Case = readonly [
  what: string,
  call: (core: CoreV1Api) => Promise<unknown>,
  prepare?: (cluster: FakeCluster) => void,
];
const cases: readonly Case[] = [
  ['a list, which comes compressed', list],
  ['an object', (core) => core.readNamespace({ name: 'namespace-1' })],
  ['an object that is missing', (core) => core.readNamespace({ name: 'none' })],
  ['a conflict', (core) => core.createNamespace({ body: { metadata: { name: 'namespace-1' } } })],
  ['a 503', list, (cluster) => cluster.failNext(503)],
  ['a 401', list, (cluster) => cluster.setTokens({})],
];

describe("generated clients behave as on client-node's own library", () => {
  for (const [what, call, prepare] of cases) {
    test(what, async (t) => {
      const { cluster, config } = await startFleet(t);
      cluster.add(Array.from({ length: 2_000 }, (_, index) => newNamespace(`namespace-${index}`)));
      prepare?.(cluster);
      const theirs = await outcome(() => call(onFetch(config)));
      prepare?.(cluster);
      const ours = await outcome(() => call(config.makeApiClient(CoreV1Api)));
      assert.deepEqual(ours, theirs);
    });
  }

  test('an aborted request', async (t) => {
    const { config, cluster } = await startFleet(t);
    for (const core of [config.makeApiClient(CoreV1Api), onFetch(config)]) {
      cluster.failNext('hang');
      const controller = new AbortController();
      cluster.onRequest = () => controller.abort(new Error('enough'));
      const middleware: ObservableMiddleware = {
        pre(context) {
          context.setSignal(controller.signal);
          return new Observable(Promise.resolve(context));
        },
        post: (response) => new Observable(Promise.resolve(response)),
      };
      const listed = core.listNamespace({}, { middleware: [middleware], middlewareMergeStrategy: 'append' });
      await assert.rejects(listed, /enough/);
    }
  });
});

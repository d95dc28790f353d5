import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  type ApiException,
  CoreV1Api,
  KubeConfig,
  Observable,
  type ObservableMiddleware,
} from '@kubernetes/client-node';
import { PluginError, type RestConfig } from '../../src/index.ts';
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

async function compare(
  t: TestContext,
  call: (core: CoreV1Api) => Promise<unknown>,
  prepare: (fleet: Awaited<ReturnType<typeof startFleet>>) => void | Promise<void> = () => {},
): Promise<void> {
  const fleet = await startFleet(t);
  fleet.cluster.add(Array.from({ length: 2_000 }, (_, index) => newNamespace(`namespace-${index}`)));
  await prepare(fleet);
  const theirs = await outcome(() => call(onFetch(fleet.config)));
  await prepare(fleet);
  const ours = await outcome(() => call(fleet.config.makeApiClient(CoreV1Api)));
  assert.deepEqual(ours, theirs);
}

describe("generated clients behave as on client-node's own library", () => {
  test('a list, which comes compressed', (t) => compare(t, (core) => core.listNamespace()));
  test('an object', (t) => compare(t, (core) => core.readNamespace({ name: 'namespace-1' })));
  test('an object that is missing', (t) => compare(t, (core) => core.readNamespace({ name: 'none' })));
  test('a conflict', (t) =>
    compare(t, (core) => core.createNamespace({ body: { metadata: { name: 'namespace-1' } } })));
  for (const status of [403, 500, 503]) {
    test(`a ${status}`, (t) =>
      compare(
        t,
        (core) => core.listNamespace(),
        ({ cluster }) => cluster.failNext(status),
      ));
  }
  test('a 401', (t) =>
    compare(
      t,
      (core) => core.listNamespace(),
      ({ cluster }) => cluster.setTokens({}),
    ));

  test('a plugin that fails', async (t) => {
    const { config } = await startFleet(t, { answer: { exitCode: 1 } });
    const isOurs = (error: unknown) => error instanceof PluginError && error.profile === 'fleet/spoke';
    await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace(), isOurs);
    // fetch wraps whatever it fails with.
    await assert.rejects(onFetch(config).listNamespace(), (error: Error) => isOurs(error.cause));
  });

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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AuthenticationV1Api,
  CoreV1Api,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

describe('every kind of client', () => {
  for (const http2 of [true, false]) {
    const protocol = http2 ? 'HTTP/2' : 'HTTP/1.1';

    test(`generated APIs are authenticated over ${protocol}`, async (t) => {
      const { cluster, plugin, config } = await startFleet(t, { cluster: { http2 } });
      const core = config.makeApiClient(CoreV1Api);
      const names = (await core.listNamespace()).items.map(({ metadata }) => metadata?.name);
      assert.deepEqual(names, ['default', 'kube-system']);
      const created = await core.createNamespace({ body: { metadata: { name: 'new' } } });
      assert.equal(created.metadata?.name, 'new');
      const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
      assert.equal(review.status?.userInfo?.username, 'me');
      assert.equal((await config.makeApiClient(VersionApi).getCode()).major, '1');
      assert.equal(await plugin.runs(), 1);
      assert.equal(cluster.stats.unauthorized, 0);
      if (http2) assert.equal(cluster.stats.connections, 1);
    });

    test(`Watch sees events over ${protocol}`, async (t) => {
      const { cluster, config } = await startFleet(t, { cluster: { http2 } });
      const names: (string | undefined)[] = [];
      const onEvent = (type: string, { metadata }: { metadata: { name: string } }) => {
        names.push(`${type} ${metadata.name}`);
        if (names.length === 2) cluster.add(newNamespace('later'));
      };
      const controller = await new Watch(config).watch('/api/v1/namespaces', {}, onEvent, () => {});
      await until(t, () => names.length >= 3);
      controller.abort();
      assert.deepEqual(names, ['ADDED default', 'ADDED kube-system', 'ADDED later']);
    });
  }

  test('server-side apply through a generated API, replayed after a 401', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    await core.listNamespace();
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ token: 'token-2' });
    const seen: unknown[] = [];
    cluster.onRequest = ({ method, url, headers }) => seen.push([method, url, headers['content-type']]);
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'applied', labels: { team: 'x' } } };
    const asApply = setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply);
    const applied = await core.patchNamespace({ name: 'applied', body, fieldManager: 'me', force: true }, asApply);
    assert.equal(applied.metadata?.labels?.team, 'x');
    const request = ['PATCH', '/api/v1/namespaces/applied?fieldManager=me&force=true', 'application/apply-patch+yaml'];
    assert.deepEqual(seen, [request, request]);
  });
});

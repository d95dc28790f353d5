import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { request } from 'undici';
import type { SeenRequest } from '../../src/testing/index.ts';
import { startCluster, startPlugin } from '../fixtures/fleet.ts';
import { clusterOf, headersOf, load, namespaces } from '../fixtures/kubeconfigs.ts';

/** A config whose kubeconfig impersonates somebody, and its cluster. */
async function start(t: TestContext, user: object) {
  const [cluster, plugin] = [await startCluster(t), await startPlugin(t)];
  const config = load(t, { cluster: clusterOf(cluster), user, exec: { command: plugin.command } });
  return { cluster, plugin, config };
}

describe('impersonation', () => {
  const user = {
    as: 'jane',
    'as-uid': 'u-1',
    'as-groups': ['dev', 'ops'],
    'as-user-extra': { 'Acme.com/Project': ['p1', 'p2'] },
  };

  test('sends each header, each group on its own, and a name in the form that the API server decodes', async (t) => {
    const { cluster, config } = await start(t, user);
    const headers = await headersOf(cluster, config);
    assert.equal(headers['impersonate-user'], 'jane');
    assert.equal(headers['impersonate-uid'], 'u-1');
    // Two header lines, as Node joins them; on HTTP/2 undici would have sent one.
    assert.equal(headers['impersonate-group'], 'dev, ops');
    assert.equal(headers['impersonate-extra-acme.com%2fproject'], 'p1, p2');
    assert.equal(headers.authorization, 'Bearer token-1');
  });

  test('sends names as UTF-8', async (t) => {
    const { cluster, config } = await start(t, { as: 'josé' });
    const { 'impersonate-user': sent } = await headersOf(cluster, config);
    assert.equal(Buffer.from(String(sent), 'latin1').toString(), 'josé');
  });

  test('stays on HTTP/2 where no header is repeated, and leaves one that the caller sets alone', async (t) => {
    const { cluster, config } = await start(t, { as: 'jane' });
    const seen: SeenRequest['headers'][] = [];
    cluster.onRequest = ({ headers }) => seen.push(headers);
    await namespaces(config);
    const { body } = await request(`${cluster.url}/version`, {
      dispatcher: config.dispatcher,
      headers: { 'Impersonate-User': 'joe' },
    });
    await body.dump();
    assert.deepEqual(
      seen.map((headers) => [headers['impersonate-user'], headers[':scheme']]),
      [
        ['jane', 'https'],
        ['joe', 'https'],
      ],
    );
  });

  test('is added to a request that has an Authorization header of its own, too', async (t) => {
    const { cluster, plugin, config } = await start(t, { as: 'jane' });
    const seen: SeenRequest['headers'][] = [];
    cluster.onRequest = ({ headers }) => seen.push(headers);
    const response = await config.fetch('/version', { headers: { authorization: 'Bearer own', connection: 'close' } });
    await response.text();
    const [headers = {}] = seen;
    assert.deepEqual([headers.authorization, headers['impersonate-user']], ['Bearer own', 'jane']);
    assert.equal(await plugin.runs(), 0);
  });
});

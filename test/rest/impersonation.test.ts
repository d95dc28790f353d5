import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api, setHeaderOptions } from '@kubernetes/client-node';
import type { SeenRequest } from '../../src/testing/index.ts';
import { startCluster, startFleet, startPlugin } from '../fixtures/fleet.ts';
import { clusterOf, headersOf, load, namespaces } from '../fixtures/kubeconfigs.ts';
import { statusOf } from '../fixtures/requests.ts';

/** A config whose kubeconfig impersonates somebody, and its cluster. */
async function start(t: TestContext, user: object) {
  const [cluster, plugin] = [await startCluster(t), await startPlugin(t)];
  const config = load(t, { cluster: clusterOf(cluster), user, exec: { command: plugin.command } });
  return { cluster, plugin, config };
}

/** Two header lines of one name come as Node joins them. */
function isJane(headers: SeenRequest['headers']): void {
  assert.equal(headers['impersonate-user'], 'jane');
  assert.equal(headers['impersonate-uid'], 'u-1');
  assert.equal(headers['impersonate-group'], 'dev, ops');
  assert.equal(headers['impersonate-extra-acme.com%2fproject'], 'p1, p2');
}

describe('impersonation', () => {
  const extra = { 'Acme.com/Project': ['p1', 'p2'] };
  const user = { as: 'jane', 'as-uid': 'u-1', 'as-groups': ['dev', 'ops'], 'as-user-extra': extra };

  test('sends each header, each group on its own, and a name in the form that the API server decodes', async (t) => {
    const { cluster, config } = await start(t, user);
    const headers = await headersOf(cluster, config);
    isJane(headers);
    assert.equal(headers.authorization, 'Bearer token-1');
  });

  test('sends names as UTF-8, and leaves a header that the caller sets alone', async (t) => {
    const { cluster, config } = await start(t, { as: 'josé' });
    const { 'impersonate-user': sent } = await headersOf(cluster, config);
    assert.equal(Buffer.from(String(sent), 'latin1').toString(), 'josé');
    const seen: SeenRequest['headers'][] = [];
    cluster.onRequest = ({ headers }) => seen.push(headers);
    const { dispatcher } = config;
    await statusOf(`${cluster.url}/version`, { dispatcher, headers: { 'Impersonate-User': 'joe' } });
    assert.equal(seen[0]?.['impersonate-user'], 'joe');
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

describe('getConfig with impersonate', () => {
  const jane = { user: 'jane', uid: 'u-1', groups: ['dev', 'ops'], extra: { 'Acme.com/Project': ['p1', 'p2'] } };

  test('sends what a kubeconfig with as sends, and exports it', async (t) => {
    const { cluster, providers, profile } = await startFleet(t);
    const config = providers.getConfig(profile, { impersonate: jane });
    isJane(await headersOf(cluster, config));
    const [{ user }] = JSON.parse(config.exportConfig()).users;
    assert.deepEqual([user.as, user['as-uid'], user['as-groups']], ['jane', 'u-1', ['dev', 'ops']]);
  });

  test('keeps users apart that share a connection and a credential, with one group or several', async (t) => {
    const { cluster, plugin, providers, profile } = await startFleet(t);
    const seen: string[] = [];
    cluster.onRequest = ({ headers }) => seen.push(`${headers['impersonate-user']} ${headers['impersonate-group']}`);
    for (const impersonate of [{ user: 'joe', groups: ['dev'] }, { user: 'ann', groups: ['a', 'b'] }, { user: 'eve' }])
      await namespaces(providers.getConfig(profile, { impersonate }));
    await namespaces(providers.getConfig(profile));
    assert.deepEqual(seen, ['joe dev', 'ann a, b', 'eve undefined', 'undefined undefined']);
    assert.equal(await plugin.runs(), 1);
    assert.match(inspect(providers), /connections: 1, sources: 1/);
  });

  test('acts as nobody else where the user is missing, or is no name, by mistake', async (t) => {
    const { providers, profile } = await startFleet(t);
    const wrong: readonly [impersonate: unknown, problem: RegExp][] = [
      [undefined, /impersonate: must be an object/],
      [{}, /impersonate\.user: must be the name of a user/],
      [{ user: '' }, /impersonate\.user: must be the name of a user/],
      [{ user: 'jane', groups: 'dev' }, /impersonate\.groups: must be a list of groups/],
      [{ user: 'jane\r\nx: y' }, /impersonate\.user: holds a character that cannot be sent in a header/],
      [{ user: 'jane', extra: { a: ['\n'] } }, /impersonate\.extra\.a: holds a character/],
      [{ user: ' jane' }, /impersonate\.user: begins or ends with a blank/],
      [{ user: 'jane', groups: ['dev', 'ops\t'] }, /impersonate\.groups: begins or ends with a blank/],
      [{ user: 'jane', group: [] }, /impersonate\.group: is not an option/],
    ];
    for (const [impersonate, problem] of wrong) {
      assert.throws(() => providers.getConfig(profile, { impersonate } as object), problem);
    }
    assert.throws(() => providers.getConfig(profile, { as: 'jane' } as object), /as: is not an option/);
  });
});

test("a generated client hands a user's own token on, and runs no plugin", async (t) => {
  const { cluster, plugin, config } = await startFleet(t, {
    cluster: { tokens: { 'token-1': 'me', 'token-u': 'jane' } },
  });
  const options = (token: string) => setHeaderOptions('Authorization', `Bearer ${token}`);
  await config.makeApiClient(CoreV1Api).listNamespace({}, options('token-u'));
  assert.equal(cluster.stats.byIdentity.get('jane'), 1);
  await assert.rejects(config.makeApiClient(CoreV1Api).listNamespace({}, options('expired')), { code: 401 });
  assert.equal(await plugin.runs(), 0);
});

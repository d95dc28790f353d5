import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { type ConfigCredential, RestConfig } from '../../src/index.ts';
import type { FakeCluster } from '../../src/testing/index.ts';
import { startCertified } from '../fixtures/certified.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { clusterOf, load } from '../fixtures/kubeconfigs.ts';
import { writeInput } from '../fixtures/program.ts';

/** The status of a request that a program sends by itself, with Node's own client. */
function statusWith(cluster: FakeCluster, credential: ConfigCredential): Promise<number | undefined> {
  const { authorization, clientCertificateData: cert, clientKeyData: key } = credential;
  const ca = Buffer.from(cluster.certificateAuthorityData, 'base64');
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = authorization === undefined ? {} : { authorization };
  const options = { ca, cert, key, headers, agent: false };
  httpsRequest(`${cluster.url}/api/v1/namespaces`, options, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', reject)
    .end();
  return promise;
}

describe('config.credential', () => {
  test('is that of every request: one run of the plugin for all', async (t) => {
    const { cluster, plugin, config, providers, profile } = await startFleet(t, {
      answer: { token: 'token-1', expirationTimestamp: '2099-01-01T00:00:00Z' },
    });
    const [first, second] = await Promise.all([config.credential(), providers.getConfig(profile).credential()]);
    await config.makeApiClient(CoreV1Api).listNamespace();
    assert.equal(await statusWith(cluster, first), 200);
    assert.deepEqual([first.token, first.expirationTimestamp], ['token-1', '2099-01-01T00:00:00.000Z']);
    assert.deepEqual([first.authorization, first.clientKeyData], ['Bearer token-1', undefined]);
    assert.equal(second.token, 'token-1');
    assert.equal(await plugin.runs(), 1);
  });

  test('may be a client certificate with its key', async (t) => {
    const { cluster, config } = await startCertified(t);
    const credential = await config.credential();
    assert.equal(credential.token, undefined);
    assert.equal(await statusWith(cluster, credential), 200);
    assert.equal(cluster.stats.byIdentity.get('first'), 1);
  });

  test('is refreshed once, however many say that it was refused, and not for an older one', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    const old = await config.credential();
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ token: 'token-2' });
    assert.equal(await statusWith(cluster, old), 401);
    await Promise.all([old.reject(), old.reject(), (await config.credential()).reject()]);
    const next = await config.credential();
    assert.equal(await statusWith(cluster, next), 200);
    await old.reject();
    assert.equal((await config.credential()).token, next.token);
    assert.equal(await plugin.runs(), 2);
  });

  test('stays where no better one comes, and the plugin is not run again at once', async (t) => {
    const { plugin, config } = await startFleet(t);
    const credential = await config.credential();
    await plugin.answer({ exitCode: 1 });
    await credential.reject();
    await credential.reject();
    assert.equal(await plugin.runs(), 2);
    assert.equal((await config.credential()).token, 'token-1');
  });

  test('rejects with what the plugin failed with, with the reason of a signal, and after close', async (t) => {
    const { config } = await startFleet(t, { answer: { exitCode: 1 } });
    await assert.rejects(config.credential(), { code: 'PLUGIN_FAILED' });
    await assert.rejects(config.credential({ signal: AbortSignal.abort(new Error('enough')) }), /enough/);
    await config.close();
    await assert.rejects(config.credential(), { code: 'CONFIG_CLOSED' });
  });

  test('is not given where a fence lets no request pass', async (t) => {
    const { config, plugin } = await startFleet(t);
    RestConfig.setFence(config, () => new Error('the shard was lost'));
    await assert.rejects(config.credential(), /the shard was lost/);
    assert.equal(await plugin.runs(), 0);
  });

  test('is not printed', async (t) => {
    const { config } = await startFleet(t);
    const credential = await config.credential();
    const printed = `${inspect({ credential }, { depth: 9, showHidden: true })}${JSON.stringify({ credential })}`;
    assert.doesNotMatch(printed, /token-1/);
    assert.match(printed, /\[credential\].*"\[credential\]"/s);
  });

  test('of a kubeconfig without a plugin is what its user has: reject reads files again', async (t) => {
    const { cluster } = await startFleet(t);
    const file = await writeInput(t, 'token', 'old');
    const user = (fields: object) => load(t, { cluster: clusterOf(cluster), user: fields, exec: null });
    const reading = user({ tokenFile: file });
    const old = await reading.credential();
    await writeFile(file, 'new');
    assert.equal((await reading.credential()).token, 'old');
    await old.reject();
    assert.equal((await reading.credential()).token, 'new');

    const basic = await user({ username: 'me', password: 'secret' }).credential();
    assert.equal(basic.token, undefined);
    assert.equal(basic.authorization, `Basic ${Buffer.from('me:secret').toString('base64')}`);
    await basic.reject();
    assert.equal((await user({}).credential()).authorization, undefined);
  });
});

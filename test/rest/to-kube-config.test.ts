// Other versions of client-node: npm run test:release -- client-node.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node';
import { toKubeConfig } from '../../src/index.ts';
import { startCertified } from '../fixtures/certified.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

describe('toKubeConfig', () => {
  test('gives a KubeConfig of the given class, through a rotation', async (t) => {
    const { cluster, plugin, config } = await startFleet(t);
    class Other extends KubeConfig {}
    const other = toKubeConfig(config, Other);
    assert.ok(other instanceof Other);
    assert.equal((await other.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
    cluster.setTokens({ 'token-2': 'me' });
    await plugin.answer({ token: 'token-2' });
    const seen: string[] = [];
    const onEvent = (type: string) => seen.push(type);
    const watch = await new Watch(other).watch('/api/v1/namespaces', {}, onEvent, () => {});
    await until(t, () => seen.length === 2);
    watch.abort();
    assert.equal(other.exportConfig(), config.exportConfig());
    await config.close();
    await assert.rejects(other.makeApiClient(CoreV1Api).listNamespace());
  });

  test('has the credential of now in the options of https, for programs that read it there', async (t) => {
    const { cluster, config } = await startCertified(t, { token: 'own' });
    const options: { headers?: object; ca?: unknown; cert?: unknown; key?: unknown } = {};
    await toKubeConfig(config, KubeConfig).applyToHTTPSOptions(options as object);
    const { clientCertificateData, clientKeyData } = await config.credential();
    assert.deepEqual(options.headers, { Authorization: 'Bearer own' });
    assert.equal(String(options.ca), Buffer.from(cluster.certificateAuthorityData, 'base64').toString());
    assert.deepEqual([options.cert, options.key], [clientCertificateData, clientKeyData]);
  });

  test('cannot be changed, and gives no user in silence', async (t) => {
    const { config } = await startFleet(t);
    const other = toKubeConfig(config, KubeConfig);
    assert.throws(() => other.setCurrentContext('x'), TypeError);
    for (const one of [config, other]) {
      assert.throws(() => one.getCurrentUser(), { code: 'OPTION_INVALID', message: /config\.credential\(\)/ });
      assert.throws(() => one.getUser('fake'), { code: 'OPTION_INVALID' });
    }
  });

  test('refuses what is no config', () => {
    const wrong: (...given: unknown[]) => unknown = toKubeConfig as never;
    assert.throws(() => wrong({}, KubeConfig), /config: must be a RestConfig/);
  });
});

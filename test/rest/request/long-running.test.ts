import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api, KubernetesObjectApi } from '@kubernetes/client-node';
import { type Dispatcher, FormData, fetch, request } from 'undici';
import { isLongRunning } from '../../../src/rest/request/paths.ts';
import { configMap } from '../../fixtures/api.ts';
import { startDeadServer } from '../../fixtures/dead-server.ts';
import { startPlugin, startProviders } from '../../fixtures/fleet.ts';

const asked = (path: string, base = '', more: object = {}) =>
  isLongRunning({ path, method: 'GET', ...more } as Dispatcher.DispatchOptions, base);

describe('long-running is', () => {
  for (const path of [
    '/api/v1/pods?watch=true',
    '/api/v1/pods?limit=5&watch=1',
    '/api/v1/pods?watch&limit=5',
    '/api/v1/namespaces/a/pods/b/log?follow=true',
    '/api/v1/namespaces/a/pods/b/log',
    '/api/v1/namespaces/a/pods/b/exec?command=ls',
    '/api/v1/namespaces/a/pods/b/%65xec',
    '/api/v1/namespaces/a/pods/b/attach',
    '/api/v1/namespaces/a/pods/b/portforward',
    '/api/v1/namespaces/a/services/https:b:443/proxy/healthz',
    '/api/v1/nodes/b/proxy/metrics',
    '/apis/proxy.example/v1/gateways/spoke/proxy/api/v1/pods',
    '/apis/example.com/v1/namespaces/log/things/proxy/exec',
  ])
    test(path, () => assert.ok(asked(path)));
});

describe('not long-running is', () => {
  for (const path of [
    '/version',
    '/api/v1/pods?watch=false',
    '/api/v1/pods?watch=0',
    '/api/v1/pods?labelSelector=watch',
    '/api/v1/namespaces/default/configmaps/log',
    '/api/v1/namespaces/proxy',
    '/api/v1/namespaces/proxy/pods',
    '/api/v1/namespaces/log/configmaps/exec',
    '/api/v1/namespaces/a/pods/proxy',
    '/api/v1/namespaces/a/pods/proxy/status',
    '/apis/log/v1/proxy',
    '/x/proxy/y',
  ])
    test(path, () => assert.ok(!asked(path)));

  test('what is so because of the path of the server alone', () => {
    const base = '/apis/proxies.example/v1/sockets/spoke/proxy/direct';
    assert.ok(!asked(`${base}/api/v1/pods`, base));
    assert.ok(!asked(`${base}/api/v1/namespaces/log`, base));
    assert.ok(asked(`${base}/api/v1/nodes/b/proxy/`, base));
  });
});

test('requestTimeoutMs is for requests of every form', async (t) => {
  const [dead, plugin] = [await startDeadServer(t, 'HTTP/1.1'), await startPlugin(t)];
  const config = startProviders(t, plugin, { requestTimeoutMs: 500 }).getConfig(dead.profile);
  const { dispatcher, access } = config;
  const url = `${access.cluster.server}/x`;
  const core = config.makeApiClient(CoreV1Api);
  const form = new FormData();
  form.set('a', 'b');
  async function* pieces() {
    yield Buffer.from('{}');
  }
  const codes = await Promise.all(
    [
      request(url, { dispatcher }),
      request(url, { dispatcher, method: 'POST', body: '{}' }),
      request(url, { dispatcher, method: 'POST', body: form }),
      fetch(url, { dispatcher }),
      fetch(url, { dispatcher, method: 'POST', body: '{}' }),
      fetch(url, { dispatcher, method: 'POST', body: pieces(), duplex: 'half' }),
      core.readNamespacedConfigMap({ namespace: 'default', name: 'log' }),
      core.listNamespacedPod({ namespace: 'proxy' }),
      KubernetesObjectApi.makeApiClient(config).create(configMap('x')),
    ].map((one: Promise<unknown>) => one.catch((error) => error.code ?? error.cause?.code)),
  );
  assert.deepEqual(new Set(codes), new Set(['RESPONSE_TIMEOUT']));
});

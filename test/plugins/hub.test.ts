import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import * as z from 'zod/mini';
import { askHub, connectHub, getSecret, type HubClient } from '../../src/plugins/hub.ts';
import { startHub } from '../fixtures/hub.ts';
import { setEnvironment, temporaryFolder } from '../fixtures/script.ts';

const nothing = { KUBERNETES_SERVICE_HOST: undefined, KUBERNETES_SERVICE_PORT: undefined, KUBECONFIG: undefined };

describe('the cluster that a shipped plugin reads', () => {
  test("is the pod's own, in the pod's namespace", async (t) => {
    const hub = await startHub(t, { 'fleet/secrets/spoke-1': { data: { token: 't' } } });
    const address = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: `${hub.port}` };
    setEnvironment(t, { ...address, KUBECONFIG: '/nowhere' });
    const opened = await connectHub(await hub.asPod());
    assert.equal(opened.namespace, 'fleet');
    assert.equal((await getSecret(opened, 'fleet', 'spoke-1')).read('token'), 't');
  });

  test("is the pod's own in a clean environment too, by the cluster's DNS name", async (t) => {
    const hub = await startHub(t, {});
    setEnvironment(t, nothing);
    const { server, namespace } = await connectHub(await hub.asPod());
    assert.deepEqual([server, namespace], ['https://kubernetes.default.svc:443', 'fleet']);
  });

  test('is told where KUBECONFIG is not there, or is none', async (t) => {
    const folder = await temporaryFolder(t);
    setEnvironment(t, { ...nothing, KUBECONFIG: `${folder}/none` });
    await assert.rejects(connectHub('/nowhere'), /kubeconfig \S+\/none: does not exist, .*: correct KUBECONFIG/);
    await writeFile(`${folder}/bad`, 'users: [{ token: hunter2');
    setEnvironment(t, { KUBECONFIG: `${folder}/bad` });
    await assert.rejects(connectHub('/nowhere'), (error) => {
      assert.match(String(error), /kubeconfig \S+\/bad: .*line 1: is neither JSON nor YAML/s);
      assert.doesNotMatch(String(error), /hunter2/);
      return true;
    });
  });

  test('is that of KUBECONFIG, in a pod too where nothing but its files says that it is one', async (t) => {
    const hub = await startHub(t, { 'fleet/secrets/spoke-1': { data: { token: 't' } } });
    setEnvironment(t, { ...nothing, KUBECONFIG: hub.kubeconfig });
    for (const root of ['/nowhere', await hub.asPod()]) {
      const opened = await connectHub(root);
      assert.deepEqual([opened.server, opened.namespace], [hub.url, 'fleet']);
      assert.equal((await getSecret(opened, 'fleet', 'spoke-1')).read('token'), 't');
    }
  });

  test('is named where there is none, or where it cannot be reached', async (t) => {
    setEnvironment(t, { ...nothing, HOME: await temporaryFolder(t) });
    await assert.rejects(
      connectHub('/nowhere'),
      /there is no cluster to read from: .* set KUBECONFIG among execConfig\.env/,
    );
    const hub = await startHub(t, {});
    setEnvironment(t, { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '2' });
    const opened = await connectHub(await hub.asPod());
    await assert.rejects(
      getSecret(opened, 'fleet', 'spoke-1'),
      /^Error: failed to get secret fleet\/spoke-1: https:\/\/127\.0\.0\.1:2 cannot be reached \(E[A-Z]+\)/,
    );
  });

  test('is answered with 403 where RBAC lacks a verb, and the verb is named', async () => {
    const send = async () => ({ statusCode: 403, text: '' });
    const hub: HubClient = { server: 'https://hub', namespace: 'fleet', send };
    await assert.rejects(getSecret(hub, 'fleet', 'spoke-1'), /RBAC does not allow it: the plugin needs "get" on it$/);
    const minted = askHub(hub, 'mint a token', z.object({}), 'fleet/serviceaccounts/spoke-1/token', {});
    await assert.rejects(minted, /: the plugin needs "create" on serviceaccounts\/token$/);
  });
});

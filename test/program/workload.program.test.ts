import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { runProgram, writeInput } from '../fixtures/program.ts';

describe('--from-pod-args', () => {
  test("takes a controller's flags and its mounted provider file from the hub, or from its manifest", async (t) => {
    const { hub, env, providerFile } = await startOperatedFleet(t);
    const metadata = { namespace: 'fleet', name: 'controller' };
    const template = {
      metadata: { labels: { app: 'c' } },
      spec: {
        containers: [
          {
            name: 'controller',
            image: 'c',
            args: ['--port=1', '--clusterprofile-provider-file', '/etc/c/providers.yaml'],
            volumeMounts: [{ name: 'providers', mountPath: '/etc/c' }],
          },
        ],
        volumes: [{ name: 'providers', configMap: { name: 'providers' } }],
      },
    };
    const selector = { matchLabels: { app: 'c' } };
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { selector, template } };
    const data = { 'providers.yaml': await readFile(providerFile, 'utf8') };
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, name: 'providers' }, data };
    hub.add([deployment, configMap]);
    const manifest = await writeInput(
      t,
      'fleet.yaml',
      `${JSON.stringify(deployment)}\n---\n${JSON.stringify(configMap)}\n`,
    );
    const alone = await writeInput(t, 'alone.yaml', deployment);
    const get = (...args: string[]) => runProgram(t, ['get', 'spoke-1', '--no-headers', ...args], { env });
    const [onHub, named, inFile, instead, noMap, gone, noFile] = await Promise.all([
      get('--from-pod-args', 'deployment/controller'),
      get('--from-pod-args', 'fleet/deployment.apps/controller', '--container', 'controller', '-n', 'fleet'),
      get('--from-pod-args', manifest),
      get('--from-pod-args', alone, '--clusterprofile-provider-file', providerFile),
      get('--from-pod-args', alone),
      get('--from-pod-args', 'default/deployment/controller'),
      get('--from-pod-args', '/none.yaml'),
    ]);
    const written = ['kubeconfig', 'fleet/spoke-1', '--from-pod-args', 'deployment/controller', '-n', 'fleet'];
    const { stdout: kubeconfig } = await runProgram(t, written, { env });
    assert.match(kubeconfig, /- --from-pod-args\n +- fleet\/deployment\/controller\n/);
    assert.doesNotMatch(kubeconfig, /--namespace/);
    for (const { stdout, stderr } of [onHub, named, inFile, instead]) {
      assert.equal(stderr, '');
      assert.match(stdout, /^fleet +spoke-1 +ocm +True +google +google$/);
    }
    assert.match(
      noMap.stderr,
      /^error: provider file \/etc\/c\/providers\.yaml is in ConfigMap providers with the key providers\.yaml, and \S+alone\.yaml has none\nhint: {2}give --clusterprofile-provider-file with a copy of it$/,
    );
    assert.match(gone.stderr, /^error: there is no deployment controller in namespace default of the hub\n/);
    assert.match(
      noFile.stderr,
      /^error: --from-pod-args \/none\.yaml: there is no such file\nhint: {2}give a manifest file, deployment\/NAME or NAMESPACE\/deployment\/NAME$/,
    );
    assert.deepEqual([noMap.exitCode, gone.exitCode, noFile.exitCode], [3, 5, 3]);
  });
});

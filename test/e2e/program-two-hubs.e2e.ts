// Two real hubs in one kubeconfig, with the same namespaces and names, and Go's secretreader: each is its own
// spoke. Ours is in test/program/two-hubs.program.test.ts.
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { programEnvironment, runProgram, writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { publish, startHub } from './crd.ts';
import { accessBy, clusterOf, kubeconfigOf, type Lifetime, lifetimeOf, programs, serviceAccount } from './fixture.ts';
import { buildAccess } from './go-programs.ts';

const names = ['prod', 'staging'] as const;
type Name = (typeof names)[number];

/** A hub whose Secret `spoke-1` has a token that only its own API server takes, for `controller-NAME`. */
async function startTwin(life: Lifetime, name: Name) {
  const plane = await startHub(life, name);
  const token = await (await serviceAccount(plane, `controller-${name}`)).mint();
  const body = { metadata: { name: 'spoke-1' }, stringData: { token } };
  await plane.admin.makeApiClient(CoreV1Api).createNamespacedSecret({ namespace: 'default', body });
  const extension = { clusterName: 'spoke-1', clusterProfileNamespace: 'default' };
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension }];
  await publish(plane, 'spoke-1', accessBy('secretreader', { ...clusterOf(plane), extensions }));
  return { name, served: plane, user: { token: await (await serviceAccount(plane, 'operator')).mint() } };
}

describe('two hubs with the same names', () => {
  test("never see the credential of each other: check, exec, kubectl and a current context of ours, with Go's secretreader", async (t) => {
    const life = lifetimeOf(t);
    const folder = await temporaryFolder(t);
    const goReader = join(folder, 'go-secretreader');
    const [prod, staging] = await Promise.all([
      startTwin(life, 'prod'),
      startTwin(life, 'staging'),
      buildAccess('sigs.k8s.io/cluster-inventory-api/plugins/secretreader/cmd/plugin', goReader),
    ]);
    const home = await temporaryFolder(t);
    await mkdir(join(home, '.kube'));
    await writeFile(join(home, '.kube/config'), kubeconfigOf([prod]));

    const [config, own] = [join(folder, 'config'), join(folder, 'own')];
    await writeFile(config, kubeconfigOf([prod, staging]));
    await writeFile(own, kubeconfigOf([staging]));
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: goReader, provideClusterInfo: true };
    const providers = await writeInput(t, 'providers.json', { providers: [{ name: 'secretreader', execConfig }] });
    const flags = ['--clusterprofile-provider-file', providers];
    const TMPDIR = await temporaryFolder(t);
    const env = { KUBECONFIG: config, TMPDIR };
    const kubectlPath = join(programs, 'kubectl');
    const whoAmI = [kubectlPath, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    const isOf = (text: string, name: Name) =>
      assert.match(text, new RegExp(`system:serviceaccount:default:controller-${name}`));
    for (const [args, variables] of [
      [['--context', 'staging'], env],
      [['--kubeconfig', own], { HOME: home, TMPDIR }],
      [['--kubeconfig', own, '--clusterprofile-clean-environment'], { HOME: home, TMPDIR }],
    ] as const) {
      const checked = await runProgram(t, ['check', 'spoke-1', ...args, ...flags], { env: variables });
      assert.equal(checked.exitCode, 0, checked.stdout + checked.stderr);
      isOf(checked.stdout, 'staging');
      const executed = ['exec', 'spoke-1', ...args, ...flags, '--no-prefix', '--', ...whoAmI];
      const { stdout, stderr } = await runProgram(t, executed, { env: variables });
      isOf(stdout + stderr, 'staging');
    }

    for (const name of names) {
      const merge = ['kubeconfig', 'spoke-1', '--merge', config, '--context', name, ...flags];
      assert.equal((await runProgram(t, merge, { env })).exitCode, 0);
    }
    const kubectl = async (...args: readonly string[]) => {
      const settings = { env: { ...programEnvironment(home), ...env }, extendEnv: false, reject: false } as const;
      const { stdout, stderr } = await execa(kubectlPath, args, settings);
      return `${stdout}${stderr}`;
    };
    const asks = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    for (const name of names) isOf(await kubectl('--context', `default/spoke-1@${name}`, ...asks), name);

    await kubectl('config', 'use-context', 'default/spoke-1@staging');
    isOf(await kubectl(...asks), 'staging');
    const listed = await runProgram(t, ['get', '-o', 'name'], { env });
    assert.equal(listed.stdout, 'clusterprofile.multicluster.x-k8s.io/spoke-1', listed.stderr);
    const checked = await runProgram(t, ['check', ...flags], { env });
    isOf(checked.stdout, 'staging');
    assert.deepEqual(await readdir(TMPDIR), []);
  });
});

// The folders of examples/deploy on a real API server, and the example controller with the rights that they give it.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { parse } from 'yaml';
import { writePlugin } from '../../src/testing/index.ts';
import { writeInput } from '../fixtures/program.ts';
import { until } from '../fixtures/until.ts';
import { kubectlOf, publish, startHub } from './crd.ts';
import { accessBy, adminFile, clusterOf, kubeconfigText, type Lifetime, lifetimeOf, startPlane } from './fixture.ts';

const examples = fileURLToPath(new URL('../../examples/', import.meta.url));

/** Starts the example controller. `end` ends it, and fails where it was refused anything. */
function startExample(life: Lifetime, flags: readonly string[], env: Readonly<Record<string, string>>) {
  const child = execa(process.execPath, [join(examples, 'controller.ts'), ...flags], {
    env: { PORT: '0', ...env },
    all: true,
    reject: false,
  });
  life.after(() => child.kill('SIGKILL'));
  const end = async () => {
    child.kill('SIGTERM');
    const { exitCode, all } = await child;
    assert.equal(exitCode, 0, all);
    assert.doesNotMatch(all, /\b403\b|forbidden/i);
  };
  return { child, end };
}

test('the Deployments are what an API server takes, and the example controller gets ready with their service account', async (t) => {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  for (const name of ['fleet-cluster-inventory', 'team-a']) await kubectlOf(hub, 'create', 'namespace', name);
  const platforms = readdirSync(join(examples, 'deploy'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['base', 'spoke'].includes(entry.name))
    .map(({ name }) => name);
  assert.equal(platforms.length, 8);
  for (const name of platforms)
    await kubectlOf(hub, 'apply', '--validate=strict', '-k', join(examples, 'deploy', name));

  const core = hub.admin.makeApiClient(CoreV1Api);
  const { status } = await core.createNamespacedServiceAccountToken({
    namespace: 'fleet-system',
    name: 'fleet-controller',
    body: { spec: { audiences: ['https://kubernetes.default.svc'] } },
  });
  const KUBECONFIG = await writeInput(t, 'kubeconfig', kubeconfigText(hub, { token: status?.token }));
  for (const INVENTORY of ['fleet-system', 'fleet-cluster-inventory', 'team-a']) {
    const flags = [`--clusterprofile-provider-file=${join(examples, 'deploy/plain/providers.yaml')}`];
    const pod = { POD_NAMESPACE: 'fleet-system', POD_NAME: 'controller', INVENTORY };
    const { child, end } = startExample(life, flags, { KUBECONFIG, ...pod });
    let said = '';
    child.all.on('data', (data) => {
      said += data;
    });
    const port = () => /probes on port (\d+)/.exec(said)?.[1];
    const runs = () => assert.equal(child.nodeChildProcess.exitCode, null, said);
    await until(t, () => runs() ?? port() !== undefined);
    await until(t, async () => runs() ?? (await fetch(`http://127.0.0.1:${port()}/readyz`)).status === 200);
    await end();
  }
});

test("the ClusterRole for spokes lets the example controller reconcile with each recipe's identity, which may do nothing else", async (t) => {
  const life = lifetimeOf(t);
  const [hub, spoke] = await Promise.all([startHub(life), startPlane(life, 'spoke')]);
  await publish(hub, 'spoke', accessBy('recipe', clusterOf(spoke)));
  const KUBECONFIG = await adminFile(t, hub);
  const core = spoke.admin.makeApiClient(CoreV1Api);
  const folder = join(examples, 'deploy/spoke');
  const bindings = readdirSync(folder).filter((name) => name !== 'cluster-role.yaml');
  assert.equal(bindings.length, 6);
  await kubectlOf(spoke, 'apply', '--validate=strict', '-f', join(folder, 'cluster-role.yaml'));
  for (const file of bindings) {
    await kubectlOf(spoke, 'apply', '--validate=strict', '-f', join(folder, file));
    const [{ kind, name, namespace }] = parse(await readFile(join(folder, file), 'utf8')).subjects;
    const user = kind === 'ServiceAccount' ? `system:serviceaccount:${namespace}:${name}` : name;
    const as = kind === 'Group' ? ['--as=somebody', `--as-group=${name}`] : [`--as=${user}`];
    await kubectlOf(spoke, 'get', 'namespaces', ...as);
    // The example controller itself, as this identity, reconciles once.
    const { certificate, key: clientKeyData } = spoke.certificateAuthority.issue({
      commonName: kind === 'Group' ? 'somebody' : user,
      ...(kind === 'Group' ? { organizations: [name] } : {}),
      client: true,
    });
    const plugin = await writePlugin({ clientCertificateData: certificate, clientKeyData });
    life.after(() => plugin.remove());
    const flags = ['--clusterprofile-access-provider', `recipe=${plugin.command}`];
    const { end } = startExample(life, flags, { KUBECONFIG });
    await kubectlOf(spoke, 'label', '--overwrite', 'namespace', 'default', 'example.dev/cluster=not-yet');
    await until(t, async () => {
      const { metadata } = await core.readNamespace({ name: 'default' });
      return metadata?.labels?.['example.dev/cluster'] === 'default.spoke';
    });
    await end();
    await assert.rejects(kubectlOf(spoke, 'get', 'secrets', ...as), /forbidden/i);
    await kubectlOf(spoke, 'delete', 'clusterrolebinding', 'fleet-controller');
  }
});

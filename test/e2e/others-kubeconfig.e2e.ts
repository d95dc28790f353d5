// Programs of others with a kubeconfig that `clusterprofile kubeconfig` has written. docs/other-programs.md.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { programEnvironment, runProgram, writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import type { ControlPlane } from './control-plane.ts';
import { publish, startHub } from './crd.ts';
import { accessBy, clusterOf, type Lifetime, lifetimeOf, operatorFile, programs, providerFile } from './fixture.ts';
import { askAll, isHeld, type OtherProgram, startOther } from './others/program.ts';
import { helmVariable } from './others/programs.ts';
import { startCertifiedSpoke, startRotatingSpoke } from './others/rotation.ts';

type Environment = Readonly<Record<string, string>>;

/** What each does when it is asked, by what it says then. */
const answers: Readonly<Record<string, unknown>> = {
  '@kubernetes/client-node': { listed: true, watched: 'ADDED', informed: 'add' },
  'mcp-server-kubernetes': { resource: true, tool: true },
  '@dot-i/k8s-operator': 'holds',
  'kubernetes-fluent-client': { applied: 'fluent', listed: true },
  '@codedependant/kubernetes-leader-election': 'renewed',
  'kubernetes-client': { listed: true },
  helm: 'upgraded',
};

test('with a kubeconfig of clusterprofile kubeconfig programs of others reach a cluster', async (t) => {
  const life = lifetimeOf(t);
  const [hub, spoke, certified] = await Promise.all([
    startHub(life),
    startRotatingSpoke(life, 'one', 10),
    startCertifiedSpoke(life, 'two'),
  ]);
  await publish(hub, 'one', accessBy('token', clusterOf(spoke.plane)));
  await publish(hub, 'two', accessBy('certificate', clusterOf(certified.plane)));
  const commands = { token: spoke.plugin.command, certificate: certified.plugin.command };
  const [providers, hubConfig] = [await providerFile(t, commands), await operatorFile(t, hub)];
  const environment = async (profile: string) => {
    const args = ['kubeconfig', profile, '--clusterprofile-provider-file', providers];
    const { stdout, stderr } = await runProgram(t, args, { env: { KUBECONFIG: hubConfig } });
    assert.equal(stderr, '');
    const KUBECONFIG = await writeInput(t, profile, stdout);
    // mcp-server-kubernetes runs kubectl.
    return { ...programEnvironment(await temporaryFolder(t)), PATH: `${programs}:${process.env.PATH}`, KUBECONFIG };
  };
  const start = (plane: ControlPlane, env: Environment) =>
    Promise.all(
      Object.keys(answers).map(async (name) => ({ name, program: await startProgram(t, life, name, plane, env) })),
    );

  const started = await start(spoke.plane, await environment('one'));
  const before = await askAll(started);
  await spoke.rotate(t);
  const after = await askAll(started);
  const certificates = await askAll(await start(certified.plane, await environment('two')));
  for (const [name, answer] of Object.entries(answers)) {
    await t.test(`${name}: with a token, with the next one when that has expired, with a certificate`, () => {
      assert.deepEqual(before.get(name), answer);
      assert.deepEqual(after.get(name), answer);
      const withCertificate = name === 'kubernetes-client' ? 'kubernetes-client: no auth mechanism defined' : answer;
      assert.deepEqual(certificates.get(name), withCertificate);
    });
  }
});

async function startProgram(
  t: TestContext,
  life: Lifetime,
  name: string,
  plane: ControlPlane,
  env: Environment,
): Promise<OtherProgram> {
  if (name === 'helm') return installer(t, env);
  const program = startOther(life, name, env);
  if (name !== '@dot-i/k8s-operator') return program;
  return { work: () => program.work().then(() => isHeld(t, plane)) };
}

/** Each time a chart is installed or upgraded, whose ConfigMap is another one. */
async function installer(t: TestContext, env: Environment): Promise<OtherProgram> {
  const chart = join(await temporaryFolder(t), 'chart');
  await mkdir(join(chart, 'templates'), { recursive: true });
  await writeFile(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: chart\nversion: 1.0.0\n');
  const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: "of-helm-{{ .Release.Revision }}" }\n';
  await writeFile(join(chart, 'templates', 'config-map.yaml'), configMap);
  return {
    work: async () => {
      const args = ['upgrade', '--install', 'release', chart];
      await execa(join(process.env[helmVariable] ?? '', 'helm'), args, { env, extendEnv: false });
      return 'upgraded';
    },
  };
}

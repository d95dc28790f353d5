// Programs of others with the config of a ClusterProfile: `toKubeConfig` and `config.agent`. docs/other-programs.md.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { programEnvironment } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { accessBy, clusterOf, lifetimeOf, providerFile } from './fixture.ts';
import { askAll, isHeld, startOther } from './others/program.ts';
import { startCertifiedSpoke, startRotatingSpoke } from './others/rotation.ts';
import type { Spoke } from './spoke.ts';

const answers: Readonly<Record<string, unknown>> = {
  '@kubernetes/client-node': { listed: true, watched: 'ADDED', informed: 'add' },
  '@dot-i/k8s-operator': 'watches',
  '@codedependant/kubernetes-leader-election': 'renewed',
  'kubernetes-client': { listed: true },
};

test('with the config of a ClusterProfile programs of others reach a cluster', async (t) => {
  const life = lifetimeOf(t);
  const [refused, expired, certified] = await Promise.all([
    startRotatingSpoke(life, 'one'),
    startRotatingSpoke(life, 'two', 10),
    startCertifiedSpoke(life, 'three'),
  ]);
  const start = async (spoke: Pick<Spoke, 'plane' | 'plugin'>, name: string) =>
    startOther(life, name, await environmentOf(t, spoke));
  const started = await Promise.all(
    Object.keys(answers).map(async (name) => {
      // The operator asks for the token of each request, and does nothing about a 401.
      const spoke = name === '@dot-i/k8s-operator' ? expired : refused;
      return { name, program: await start(spoke, name), withCertificate: await start(certified, name) };
    }),
  );
  const before = await askAll(started);
  assert.equal(await isHeld(t, expired.plane), 'holds');
  await Promise.all([refused.rotate(t), expired.rotate(t)]);
  const after = await askAll(started);
  assert.equal(await isHeld(t, expired.plane), 'holds');
  const certificates = await askAll(started.map(({ name, withCertificate }) => ({ name, program: withCertificate })));
  assert.equal(await isHeld(t, certified.plane), 'holds');
  for (const [name, answer] of Object.entries(answers)) {
    await t.test(`${name}: with a token, with the next one, with a certificate`, () => {
      for (const said of [before, after, certificates]) assert.deepEqual(said.get(name), answer);
    });
  }

  // It reads the user's credentials, of which a config has none.
  const anonymous = startOther(life, 'kubernetes-client', { ...(await environmentOf(t, refused)), GIVE_CONFIG: 'yes' });
  await assert.rejects(anonymous.work(), /getCurrentUser/);
});

async function environmentOf(t: TestContext, { plane, plugin }: Pick<Spoke, 'plane' | 'plugin'>) {
  return {
    ...programEnvironment(await temporaryFolder(t)),
    PROVIDER_FILE: await providerFile(t, { x: plugin.command }),
    PROFILE: JSON.stringify({ metadata: { name: plane.name }, status: accessBy('x', clusterOf(plane)) }),
  };
}

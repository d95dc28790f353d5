// What flags do to a controller that somebody else wrote.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { describe, type TestContext, test } from 'node:test';
import { parseArgs } from 'node:util';
import { CredentialProviders, type CredentialProvidersOptions, flagOptions } from '../../src/index.ts';
import { writeProviders } from '../fixtures/program.ts';
import { shellPlugin } from '../fixtures/script.ts';

const profile = { status: { accessProviders: [{ name: 'x', cluster: { server: 'https://a.example.dev' } }] } };

/** The config of a controller that was started with flags. */
function start(t: TestContext, command: string, flags: readonly string[], options: CredentialProvidersOptions = {}) {
  const argv = [`--clusterprofile-access-provider=x=${command}`, ...flags];
  const providers = CredentialProviders.fromArgs(argv, { logger: { warn: () => undefined }, ...options });
  t.after(() => providers.close());
  return providers.getConfig(profile);
}

describe('a flag for an option', () => {
  test('beats the one that the program sets: the time that a plugin has', async (t) => {
    const { command } = await shellPlugin(t, 'exec sleep 600');
    const config = start(t, command, ['--clusterprofile-plugin-timeout=50ms'], { pluginTimeoutMs: 600_000 });
    await assert.rejects(config.ready(), { code: 'PLUGIN_TIMEOUT' });
  });

  test('takes nothing back that the program asks for', (t) => {
    for (const [option, name] of [
      ['strictPluginFiles', 'strict-plugin-files'],
      ['cleanEnvironment', 'clean-environment'],
      ['hardened', 'hardened'],
      ['watchProviderFile', 'watch-provider-file'],
    ] as const) {
      const flag = `--clusterprofile-${name}=false`;
      const message = `flags: ${flag}: the program sets ${option} itself: leave the flag out`;
      assert.throws(() => start(t, '/bin/x', [flag], { [option]: true }), { code: 'FLAG_INVALID', message });
    }
    const policy = ['--clusterprofile-plugin-policy=DenyAll'];
    assert.throws(() => start(t, '/bin/x', policy, { pluginPolicy: { policyType: 'AllowAll' } }), /leave the flag out/);
  });
});

test('a misspelt flag starts no controller, whichever way its flags are read', () => {
  const polcy = '--clusterprofile-plugin-polcy=DenyAll';
  const message = 'flags: --clusterprofile-plugin-polcy: is not a flag (did you mean --clusterprofile-plugin-policy?)';
  const refused = { code: 'FLAG_INVALID', message };
  assert.throws(() => CredentialProviders.fromArgs(['--port', '1', polcy]), refused);
  const { values } = parseArgs({ args: [polcy, '--port=1'], options: flagOptions, strict: false });
  assert.throws(() => Reflect.apply(CredentialProviders.fromFlags, CredentialProviders, [values]), refused);
  const unknown = /Unknown option '--clusterprofile-plugin-polcy'/;
  assert.throws(() => parseArgs({ args: [polcy], options: flagOptions }), unknown);
});

describe('no provider at all', () => {
  test('is a warning that says so, and what to do', async (t) => {
    const path = await writeProviders(t, {});
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    for (const create of [
      () => new CredentialProviders([], { logger }),
      () => CredentialProviders.fromArgs(['--port=1'], { logger }),
      () => CredentialProviders.fromFlags({}, { logger }),
      () => CredentialProviders.fromFile(path, { logger }),
    ]) {
      await create().close();
    }
    const consequence =
      'so every ClusterProfile is refused with NO_MATCHING_PROVIDER: give --clusterprofile-access-provider, or list ' +
      'providers in --clusterprofile-provider-file';
    const none = `no access provider is configured, ${consequence}`;
    const ofFile = `provider file ${path} configures no access provider, ${consequence}`;
    assert.deepEqual(warnings, [none, none, none, ofFile]);
  });

  test('is warned about again when a watched file comes to have none', async (t) => {
    const path = await writeProviders(t, { x: { command: '/bin/x' } });
    const { promise: warned, resolve: warn } = Promise.withResolvers<string>();
    const logger = { warn: (_fields: object, message: string) => warn(message) };
    const providers = CredentialProviders.fromFile(path, { watchProviderFile: true, logger });
    t.after(() => providers.close());
    await writeFile(path, '{"providers": []}');
    assert.match(await warned, /configures no access provider/);
  });
});

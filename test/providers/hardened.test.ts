import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { describe, type TestContext, test } from 'node:test';
import { ConfigurationError, CredentialProviders, type Provider, RestConfig } from '../../src/index.ts';
import { startPlugin } from '../fixtures/fleet.ts';
import { writeInput } from '../fixtures/program.ts';
import { print, setEnvironment, shellPlugin } from '../fixtures/script.ts';
import { thrownBy } from '../fixtures/thrown.ts';

const server = 'https://a.example.dev';
const profile = { status: { accessProviders: [{ name: 'x', cluster: { server } }] } };
const allowedServers = ['https://*.example.dev'];
const apiVersion = 'client.authentication.k8s.io/v1';

/** A plugin that may be run, and the options that let it. */
async function startHardened(t: TestContext) {
  const plugin = await startPlugin(t);
  const { command } = plugin;
  const provider: Provider = { name: 'x', execConfig: { apiVersion, command }, allowedServers };
  const pluginPolicy = { policyType: 'Allowlist', allowlist: [{ command }] } as const;
  return { plugin, command, provider, options: { hardened: true, pluginPolicy } };
}

/** The message of the one error with all problems. */
const problems = (create: () => unknown) => thrownBy(ConfigurationError, create).message;

describe('hardened', () => {
  test('gives plugins a clean environment, and runs none that others could replace', async (t) => {
    const { plugin, command, provider, options } = await startHardened(t);
    setEnvironment(t, { CPC_TEST_HARDENED: 'secret' });
    const providers = new CredentialProviders([provider], options);
    t.after(() => providers.close());
    const config = providers.getConfig(profile);
    await config.ready();
    assert.equal((await plugin.lastEnvironment()).CPC_TEST_HARDENED, undefined);
    await chmod(command, 0o777);
    config.invalidate();
    await assert.rejects(config.ready(), { code: 'PLUGIN_FILE_UNSAFE' });
  });

  test('is a flag too, which a program that says nothing of it takes over', async (t) => {
    const { command } = await shellPlugin(t, print({ token: 't' }));
    const flags = [
      '--clusterprofile-hardened',
      `--clusterprofile-access-provider=x=${command}`,
      '--clusterprofile-plugin-policy=Allowlist',
      `--clusterprofile-plugin-allowlist=${command}`,
    ];
    const servers = ['--clusterprofile-access-provider-option', 'x=allowedServers=["https://*.example.dev"]'];
    const providers = CredentialProviders.fromArgs([...flags, ...servers]);
    t.after(() => providers.close());
    await providers.getConfig(profile).ready();
    await chmod(command, 0o777);
    const again = CredentialProviders.fromArgs([...flags, ...servers]).getConfig(profile);
    await assert.rejects(again.ready(), { code: 'PLUGIN_FILE_UNSAFE' });
    assert.equal(
      problems(() => CredentialProviders.fromArgs(flags)),
      'providers: provider x: has no allowedServers, which hardened requires: list the servers that its credential may go to, ' +
        "in the provider file or with --clusterprofile-access-provider-option 'x=allowedServers=[...]'",
    );
    const withoutPolicy = problems(() => CredentialProviders.fromArgs([...flags.slice(0, 2), ...servers]));
    const missing =
      /pluginPolicy: is AllowAll, .* \(flags --clusterprofile-plugin-policy and --clusterprofile-plugin-allowlist\)/;
    assert.match(withoutPolicy, missing);
    const lenient = CredentialProviders.fromArgs(['--clusterprofile-hardened=false', ...flags.slice(1)]);
    await lenient.close();
  });

  test('asks for rules on every provider, and tells all that is missing at once', async (t) => {
    const { provider, options } = await startHardened(t);
    const { allowedServers: _, ...bare } = provider;
    const open: Provider = {
      ...bare,
      name: 'y',
      profileSourcedCLIArgsPolicy: 'Append',
      profileSourcedEnvVarsPolicy: 'AppendIfNotExists',
      allowInsecureTLS: true,
    };
    const message = problems(() => new CredentialProviders([provider, open], options));
    assert.match(message, /provider y: has no allowedServers/);
    assert.match(message, /y: has no allowedArgs, which hardened requires: list the arguments that profiles may add/);
    assert.match(
      message,
      /y: has no allowedEnvVars, which hardened requires: list the variables that profiles may set/,
    );
    assert.match(message, /provider y: has allowInsecureTLS: true, which hardened forbids/);
    assert.match(message, /4 problems/);
    const ruled = { ...open, allowedServers: [], allowedArgs: [], allowedEnvVars: [], allowInsecureTLS: false };
    await new CredentialProviders([provider, ruled], options).close();
  });

  test('contradicts options that undo it', async (t) => {
    const { provider, options } = await startHardened(t);
    const undone = { ...options, strictPluginFiles: false, cleanEnvironment: false, pluginPolicy: undefined };
    const message = problems(() => new CredentialProviders([provider], undone));
    assert.match(message, /strictPluginFiles: is false, and hardened sets it/);
    assert.match(message, /cleanEnvironment: is false, and hardened sets it/);
    assert.match(message, /pluginPolicy: is AllowAll, and hardened requires Allowlist/);
    await new CredentialProviders([provider], { hardened: true, pluginPolicy: { policyType: 'DenyAll' } }).close();
  });

  test('holds for a provider file that changes: one that lacks a rule is warned about, and the one before stays', async (t) => {
    const { provider, options } = await startHardened(t);
    const path = await writeInput(t, 'providers.json', { providers: [provider] });
    const { promise: warned, resolve: warn } = Promise.withResolvers<string>();
    const logger = { warn: (_fields: object, message: string) => warn(message) };
    const providers = CredentialProviders.fromFile(path, { ...options, logger, watchProviderFile: true });
    t.after(() => providers.close());
    const { allowedServers: _, ...bare } = provider;
    await writeFile(path, JSON.stringify({ providers: [bare] }));
    const kept = /providers\.json: provider x: has no allowedServers.*the previous providers stay in use/;
    assert.match(await warned, kept);
    const attack = { status: { accessProviders: [{ name: 'x', cluster: { server: 'https://attacker.dev' } }] } };
    assert.throws(() => providers.getConfig(attack), { code: 'SERVER_NOT_ALLOWED' });
  });

  test('holds for a kubeconfig, as far as its plugin goes', () => {
    const text = JSON.stringify({ clusters: [], users: [], contexts: [] });
    const message = problems(() => RestConfig.fromKubeConfig({ text }, { hardened: true }));
    assert.match(message, /hardened requires Allowlist/);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { ConfigurationError, CredentialProviders } from '../../src/index.ts';
import { profileFor, startCluster, startPlugin } from '../fixtures/fleet.ts';
import { writeProviders } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { thrownBy } from '../fixtures/thrown.ts';

const v1 = 'client.authentication.k8s.io/v1';
const never = { command: '/bin/x' };

describe('the way from flags and a file to a request', () => {
  test('ends with the answer of the cluster', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    const path = await writeProviders(t, { other: never });
    const provider = ['--clusterprofile-access-provider', `fake='${plugin.command} --flag "a b"'`];
    const argv = ['node', 'x', '--verbose', '--clusterprofile-provider-file', path, ...provider];
    const providers = CredentialProviders.fromArgs(argv);
    t.after(() => providers.close());
    assert.deepEqual(providers.accessTypes, ['fake', 'other']);
    const { items } = await providers.getConfig(profileFor(cluster)).makeApiClient(CoreV1Api).listNamespace();
    assert.equal(items.length, 2);
    assert.deepEqual(await plugin.lastArgs(), ['--flag', 'a b']);
    assert.deepEqual(await plugin.lastInput(), {
      kind: 'ExecCredential',
      apiVersion: v1,
      spec: {
        cluster: { server: cluster.url, 'certificate-authority-data': cluster.certificateAuthorityData, config: null },
        interactive: false,
      },
    });
  });

  test('a flag-configured plugin may answer in v1beta1, unless an option states the version', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t, { token: 'token-1', apiVersion: `${v1}beta1` });
    const flag = ['--clusterprofile-access-provider', `fake=${plugin.command}`];
    const lenient = CredentialProviders.fromArgs(flag);
    t.after(() => lenient.close());
    await lenient.getConfig(profileFor(cluster)).ready();
    const option = `--clusterprofile-access-provider-option=fake=execConfig.apiVersion=${v1}`;
    const strict = CredentialProviders.fromArgs([...flag, option]);
    t.after(() => strict.close());
    await assert.rejects(strict.getConfig(profileFor(cluster)).ready(), { code: 'ANSWER_WRONG_VERSION' });
  });
});

describe('a provider file', () => {
  test('that is a folder is an error that names it', async (t) => {
    const path = await temporaryFolder(t);
    const { code, message } = thrownBy(ConfigurationError, () => CredentialProviders.fromFile(path));
    assert.equal(code, 'PROVIDER_FILE_INVALID');
    assert.ok(message.includes(path) && message.includes('EISDIR'), message);
  });

  test('cannot configure a type that a flag configures too', async (t) => {
    const path = await writeProviders(t, { google: never });
    const argv = ['--clusterprofile-provider-file', path, '--clusterprofile-access-provider', 'google=/bin/x'];
    const { code, message } = thrownBy(ConfigurationError, () => CredentialProviders.fromArgs(argv));
    assert.equal(code, 'FLAG_INVALID');
    assert.ok(message.includes(path), message);
  });
});

describe('options', () => {
  test('are validated at construction, all at once, with a suggestion', () => {
    const options = { pluginTimeoutMS: 1, idleTimeoutMs: Number.NaN, maxConcurrentPlugins: 1.5, clock: 5, logger: {} };
    const error = thrownBy(ConfigurationError, () => Reflect.construct(CredentialProviders, [[], options]));
    assert.equal(error.code, 'OPTION_INVALID');
    assert.deepEqual(error.problems.map(({ path }) => path).sort(), Object.keys(options).sort());
    assert.match(error.message, /did you mean pluginTimeoutMs\?/);
  });

  for (const pluginTimeoutMs of [0, -1, Number.POSITIVE_INFINITY, 2 ** 31, '1000', null]) {
    test(`pluginTimeoutMs cannot be ${JSON.stringify(pluginTimeoutMs)} (${String(pluginTimeoutMs)})`, () => {
      const make = () => Reflect.construct(CredentialProviders, [[], { pluginTimeoutMs }]);
      assert.throws(make, { code: 'OPTION_INVALID' });
    });
  }
});

// C, E and I of the kubelet's behaviour, with real plugins; F, G and H stand in files of their own.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { Registry } from 'prom-client';
import { ImageError, PluginError } from '../../src/errors/index.ts';
import { ImageCredentialMetrics, ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { repositoryOf } from '../../src/image-credentials/keyring.ts';
import { anyIo, respond, startImageProvider, startImageProviders, user, v1 } from '../fixtures/image-plugins.ts';
import { scraped } from '../fixtures/measured.ts';
import { until } from '../fixtures/until.ts';

describe('the name that a plugin sees (C.23)', () => {
  for (const [image, repository] of [
    ['nginx', 'docker.io/library/nginx'],
    ['index.docker.io/nginx', 'docker.io/library/nginx'],
    ['me/app', 'docker.io/me/app'],
    ['gcr.io:5000/a@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'gcr.io:5000/a'],
    ['GCR.io/a/b:tag', 'GCR.io/a/b'],
    ['localhost/x', 'localhost/x'],
    ['localhost:5000/x:1', 'localhost:5000/x'],
    ['[::1]:5000/a', '[::1]:5000/a'],
  ] as const) {
    test(`of ${image} is ${repository}`, () => assert.equal(repositoryOf(image), repository));
  }
  for (const image of [
    '',
    'gcr.io/App',
    'a b',
    'gcr.io/a:',
    'gcr.io/a@sha256:1',
    'gcr.io//a',
    '/a',
    'gcr.io/',
    'a'.repeat(256),
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  ]) {
    test(`cannot be made of ${JSON.stringify(image.slice(0, 30))}`, () =>
      assert.throws(() => repositoryOf(image), ImageError));
  }
});

describe('the longest name (C.23)', () => {
  // Docker Hub's library/ counts, a registry does not.
  for (const [prefix, most] of [
    ['', 247],
    ['me/', 252],
    ['gcr.io/', 255],
    [`${'x'.repeat(60)}.example.dev:5000/`, 255],
  ] as const) {
    test(`has ${most} characters after ${prefix.slice(0, 20)}`, () => {
      const name = `${prefix}${'a'.repeat(most)}`;
      assert.ok(repositoryOf(`${name}:tag`).endsWith(name));
      assert.throws(() => repositoryOf(`${name}a`), /has a repository of more than 255 characters/);
    });
  }
});

describe('a run (E)', () => {
  test('E.37 to E.39: has its arguments and variables, and one line of JSON on stdin', async (t) => {
    const code = `printf '%s,%s,%s' "$1" "$A" "$HOME" > "$DIR/seen"\n${respond(anyIo)}`;
    const variables = { A: 'a', HOME: '/h' };
    const env = Object.entries(variables).map(([name, value]) => ({ name, value }));
    const config = { args: ['one two', 'x'], env };
    const { providers, rawInput, folder } = await startImageProviders(t, [{ name: 'p', code, config }]);
    await providers.getCredentials('gcr.io/a:1');
    assert.equal(await rawInput('p'), `{"kind":"CredentialProviderRequest","apiVersion":"${v1}","image":"gcr.io/a"}\n`);
    assert.equal(await readFile(`${folder}/p/seen`, 'utf8'), 'one two,a,/h');
  });

  for (const version of ['v1beta1', 'v1alpha1']) {
    test(`E.39, E.44: speaks ${version}`, async (t) => {
      const apiVersion = `credentialprovider.kubelet.k8s.io/${version}`;
      const plugin = { code: respond(anyIo, { apiVersion }), config: { apiVersion } };
      const { users, input } = await startImageProvider(t, plugin);
      assert.deepEqual(await users('gcr.io/a'), ['p u']);
      assert.deepEqual(await input('p'), { kind: 'CredentialProviderRequest', apiVersion, image: 'gcr.io/a' });
    });
  }

  test('E.40: does not have to read stdin', async (t) => {
    const { providers, binDir, users } = await startImageProviders(t, [{ name: 'p', code: '' }]);
    await writeFile(`${binDir}/p`, `#!/bin/sh\nexec <&-\n${respond(anyIo)}\n`);
    assert.deepEqual(await users('gcr.io/a'), ['p u']);
    assert.deepEqual((await providers.getCredentials('gcr.io/a')).failures, []);
  });

  const having = (more: object) => respond(anyIo, more);
  const invalid = 'ANSWER_FIELD_INVALID';
  for (const [item, code, expected, message] of [
    ['E.41: takes too long', 'sleep 60', 'PLUGIN_TIMEOUT', /did not end within 400 ms/],
    ['E.42: fails', 'echo "no login" >&2; exit 3', 'PLUGIN_FAILED', /exit code 3\nstderr: no login/],
    ['E.42: is ended by a signal', 'kill -9 $$', 'PLUGIN_SIGNALED', /SIGKILL/],
    ['E.43: prints nothing', '', 'ANSWER_EMPTY', /printed nothing/],
    ['E.43: prints YAML', `echo 'kind: CredentialProviderResponse'`, 'ANSWER_UNPARSABLE', /not one JSON object/],
    ['E.43: prints a log line first', `echo log; ${respond(anyIo)}`, 'ANSWER_UNPARSABLE', /not one JSON object/],
    ['E.43: prints a list', 'echo []', 'ANSWER_UNPARSABLE', /not one JSON object/],
    ['E.44: answers in v1beta1', having({ apiVersion: `${v1}beta1` }), 'ANSWER_WRONG_VERSION', /in another apiVersion/],
    ['E.44: answers without a version', 'echo {}', 'ANSWER_WRONG_VERSION', /in another apiVersion/],
    ['E.45: answers with another kind', having({ kind: 'Status' }), invalid, /not allowed in kind/],
    ['E.45: has an unknown field', having({ extra: 1 }), invalid, /fields that are not known/],
    ['E.45: has one inside of auth', respond({ 'a.io': { ...user('u'), token: 't' } }), invalid, /not known in auth/],
    ['E.45: has a number for a duration', having({ cacheDuration: 10 }), invalid, /not allowed in cacheDuration/],
    ['E.45: has a duration without a unit', having({ cacheDuration: '10' }), invalid, /not allowed in cacheDuration/],
    ['F.48: has no cacheKeyType', having({ cacheKeyType: undefined }), invalid, /not allowed in cacheKeyType/],
    ['F.48: has another cacheKeyType', having({ cacheKeyType: 'image' }), invalid, /not allowed in cacheKeyType/],
  ] as const) {
    test(`${item}: is an error, and no credential`, async (t) => {
      const options = expected === 'PLUGIN_TIMEOUT' ? { pluginTimeoutMs: 400 } : {};
      const { providers } = await startImageProviders(t, [{ name: 'p', code }], options);
      const { credentials, failures } = await providers.getCredentials('gcr.io/a');
      assert.deepEqual(credentials, []);
      const [failure] = failures;
      assert.ok(failure && failure.error instanceof PluginError);
      assert.equal(failure.error.code, expected);
      assert.match(failure.error.message, message);
      assert.match(failure.error.message, /^image credential provider p: plugin \/.*\/bin\/p: image gcr\.io\/a: /);
    });
  }

  test('E.46: entries may be empty or null, auth may be missing, and a null duration is none', async (t) => {
    const auth = { 'gcr.io': null, '*.io': {} };
    const { providers } = await startImageProviders(t, [
      { name: 'p', code: respond(auth, { cacheDuration: null }) },
      { name: 'q', code: respond(undefined) },
    ]);
    const { credentials, failures } = await providers.getCredentials('gcr.io/a');
    const logins = credentials.map(({ username, password }) => `${username}:${password}`);
    assert.deepEqual(logins, [':', ':']);
    assert.deepEqual(failures, []);
  });

  test('E.42 (differs): a plugin that fails is held back for that image: for a second, then for two, up to thirty, a quarter of it random', async (t) => {
    const clock = { now: 1_000_000 };
    const { providers, runs } = await startImageProvider(t, { code: 'exit 1' }, { clock: () => clock.now });
    const pull = async (image: string) => (await providers.getCredentials(image)).failures[0]?.error.retryAfterMs ?? 0;
    for (const [index, longest] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
      await pull('gcr.io/a');
      const held = await pull('gcr.io/a');
      assert.ok(held <= longest && held >= longest * 0.75, `${held} of ${longest}`);
      assert.equal(await runs('p'), index + 1);
      clock.now += held;
    }
    await pull('gcr.io/a');
    await pull('gcr.io/b');
    assert.equal(await runs('p'), 9, 'another image is not held back');
    clock.now -= 3_600_000;
    await pull('gcr.io/a');
    assert.equal(await runs('p'), 10, 'a clock that was set back does not hold it back longer');
    clock.now += 301_001;
    await pull('gcr.io/a');
    const held = await pull('gcr.io/a');
    assert.ok(held > 0 && held <= 1_000, 'it begins anew when it has been left alone for five minutes');
  });
});

describe('a plugin', () => {
  test('is found in a folder of plugins that is the working directory, and not in PATH', async (t) => {
    const { path, folder } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo) }]);
    const before = process.cwd();
    t.after(() => process.chdir(before));
    process.chdir(join(folder, 'bin'));
    const providers = ImageCredentialProviders.fromConfigFile(path, { binDir: '.', logger: { warn: () => {} } });
    t.after(() => providers.close());
    const { credentials, failures } = await providers.getCredentials('gcr.io/a');
    assert.deepEqual([credentials.length, failures], [1, []]);
  });

  test('that cannot be started at all is a failure of its own provider, and quotes no arguments', async (t) => {
    const secret = 'SECRET-argument';
    const { providers, folder } = await startImageProvider(t, { config: { args: [secret] } });
    const before = process.cwd();
    t.after(() => process.chdir(before));
    const gone = join(folder, 'gone');
    await mkdir(gone);
    process.chdir(gone);
    await rm(gone, { recursive: true });
    const { credentials, failures } = await providers.getCredentials('gcr.io/a');
    assert.deepEqual(credentials, []);
    assert.equal(failures[0]?.error.code, 'PLUGIN_NOT_EXECUTABLE');
    assert.doesNotMatch(inspect(failures, { depth: 9 }), /SECRET/);
  });
});

test('I.72, I.73: executions are counted and timed, failed ones too; what an answer is worth and cache hits are not', async (t) => {
  const registry = new Registry();
  const metrics = new ImageCredentialMetrics({ registry });
  const plugins = { good: respond(anyIo), failing: 'exit 1', nonsense: 'echo {' };
  const settings = Object.entries(plugins).map(([name, code]) => ({ name, code }));
  const { providers } = await startImageProviders(t, settings, { metrics });
  const options = { metrics, pluginTimeoutMs: 500 };
  const { providers: slow } = await startImageProviders(t, [{ name: 'slow', code: 'sleep 60' }], options);
  await slow.getCredentials('gcr.io/a');
  await providers.getCredentials('gcr.io/a');
  await providers.getCredentials('gcr.io/a');
  const value = (series: string) => scraped(registry, `kubelet_credential_provider_plugin_${series}`);
  for (const [name, errors] of [
    ['good', undefined],
    ['failing', 1],
    ['slow', 1],
    ['nonsense', undefined],
  ] as const) {
    assert.equal(await value(`errors_total{plugin_name="${name}"}`), errors, name);
    assert.equal(await value(`duration_count{plugin_name="${name}"}`), 1, name);
  }
});

test('close() ends the plugins that run', async (t) => {
  const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: 'sleep 60' }]);
  const asked = providers.getCredentials('gcr.io/a');
  await until(t, async () => (await runs('p')) > 0);
  await providers.close();
  assert.equal((await asked).failures[0]?.error.code, 'PLUGIN_STOPPED');
});

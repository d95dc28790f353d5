// C and E to I of the kubelet's behaviour, with real plugins.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { Registry } from 'prom-client';
import { ImageError, PluginError } from '../../src/errors.ts';
import { repositoryOf } from '../../src/image-credentials/image-name.ts';
import {
  ImageCredentialMetrics,
  ImageCredentialProviders,
  type ServiceAccount,
  type TokenRequest,
} from '../../src/image-credentials/index.ts';
import { respond, startImageProviders, v1 } from '../fixtures/image-plugins.ts';

const user = (username: string, password = 'pw') => ({ username, password });
const anyIo = { '*.io': user('u') };

describe('the name that a plugin sees (C.23)', () => {
  for (const [image, repository] of [
    ['nginx', 'docker.io/library/nginx'],
    ['nginx:1', 'docker.io/library/nginx'],
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

describe('a run (E)', () => {
  test('E.37 to E.39: has its arguments and variables, and one line of JSON on stdin', async (t) => {
    const code = `printf '%s,%s,%s' "$1" "$A" "$HOME" > "$DIR/seen"\n${respond(anyIo)}`;
    const config = {
      args: ['one two', 'x'],
      env: [
        { name: 'A', value: 'a' },
        { name: 'HOME', value: '/h' },
      ],
    };
    const { providers, rawInput, folder } = await startImageProviders(t, [{ name: 'p', code, config }]);
    await providers.getCredentials('gcr.io/a:1');
    assert.equal(await rawInput('p'), `{"kind":"CredentialProviderRequest","apiVersion":"${v1}","image":"gcr.io/a"}\n`);
    assert.equal(await readFile(`${folder}/p/seen`, 'utf8'), 'one two,a,/h');
  });

  for (const version of ['v1beta1', 'v1alpha1']) {
    test(`E.39, E.44: speaks ${version}`, async (t) => {
      const apiVersion = `credentialprovider.kubelet.k8s.io/${version}`;
      const plugin = { name: 'p', code: respond(anyIo, { apiVersion }), config: { apiVersion } };
      const { users, input } = await startImageProviders(t, [plugin]);
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

  for (const [item, code, expected, message] of [
    ['E.41: takes too long', 'sleep 60', 'PLUGIN_TIMEOUT', /gave no answer within 400 ms/],
    ['E.42: fails', 'echo "no login" >&2; exit 3', 'PLUGIN_FAILED', /exit code 3\nstderr: no login/],
    ['E.42: is ended by a signal', 'kill -9 $$', 'PLUGIN_SIGNALED', /SIGKILL/],
    ['E.43: prints nothing', '', 'ANSWER_EMPTY', /printed nothing/],
    ['E.43: prints YAML', `echo 'kind: CredentialProviderResponse'`, 'ANSWER_UNPARSABLE', /not one JSON object/],
    ['E.43: prints a log line first', `echo log; ${respond(anyIo)}`, 'ANSWER_UNPARSABLE', /not one JSON object/],
    ['E.43: prints a list', 'echo []', 'ANSWER_UNPARSABLE', /not one JSON object/],
    [
      'E.44: answers in another version',
      respond(anyIo, { apiVersion: `${v1}beta1` }),
      'ANSWER_WRONG_VERSION',
      /in another apiVersion/,
    ],
    ['E.44: answers without a version', 'echo {}', 'ANSWER_WRONG_VERSION', /without apiVersion/],
    ['E.45: answers with another kind', respond(anyIo, { kind: 'Status' }), 'ANSWER_WRONG_KIND', /another kind/],
    [
      'E.45: has a field that is not known',
      respond(anyIo, { extra: 1 }),
      'ANSWER_FIELD_INVALID',
      /fields that are not known/,
    ],
    [
      'E.45: has one inside of auth',
      respond({ 'a.io': { ...user('u'), token: 't' } }),
      'ANSWER_FIELD_INVALID',
      /not known in auth/,
    ],
    [
      'E.45: has a key twice',
      `echo '{"kind":"CredentialProviderResponse","apiVersion":"${v1}","cacheKeyType":"Image","auth":{"a.io":{},"a.io":{}}}'`,
      'ANSWER_FIELD_INVALID',
      /the same key twice/,
    ],
    [
      'E.45: has a number for a duration',
      respond(anyIo, { cacheDuration: 10 }),
      'ANSWER_FIELD_INVALID',
      /wrong type in cacheDuration/,
    ],
    [
      'E.45: has a duration without a unit',
      respond(anyIo, { cacheDuration: '10' }),
      'ANSWER_FIELD_INVALID',
      /cacheDuration that is not/,
    ],
    [
      'F.48: has no cacheKeyType',
      respond(anyIo, { cacheKeyType: undefined }),
      'ANSWER_FIELD_INVALID',
      /without a cacheKeyType/,
    ],
    [
      'F.48: has another cacheKeyType',
      respond(anyIo, { cacheKeyType: 'image' }),
      'ANSWER_FIELD_INVALID',
      /without a cacheKeyType/,
    ],
  ] as const) {
    test(`${item}: is an error, and no credential`, async (t) => {
      const { providers } = await startImageProviders(t, [{ name: 'p', code }], { timeoutMs: 400 });
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
    assert.deepEqual(
      credentials.map(({ username, password }) => [username, password]),
      [
        ['', ''],
        ['', ''],
      ],
    );
    assert.deepEqual(failures, []);
  });

  test('D.36: is not made where no pattern matches', async (t) => {
    const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo) }]);
    assert.deepEqual((await providers.getCredentials('quay.example.com/a')).credentials, []);
    assert.equal(await runs('p'), 0);
  });

  test('E.42 (differs): a plugin that fails is held back, for that image', async (t) => {
    const clock = { now: 1_000_000 };
    const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: 'exit 1' }], {
      clock: () => clock.now,
    });
    for (let i = 0; i < 10; i++) await providers.getCredentials('gcr.io/a');
    assert.equal(await runs('p'), 1);
    await providers.getCredentials('gcr.io/b');
    clock.now += 1_001;
    await providers.getCredentials('gcr.io/a');
    assert.equal(await runs('p'), 3);
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
    const { providers, folder } = await startImageProviders(t, [
      { name: 'p', code: respond(anyIo), config: { args: [secret] } },
    ]);
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

describe('the cache (F)', () => {
  for (const [cacheKeyType, expected] of [
    ['Image', 3],
    ['Registry', 2],
    ['Global', 1],
  ] as const) {
    test(`F.49, F.50: an answer for ${cacheKeyType} serves as far as that goes`, async (t) => {
      const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo, { cacheKeyType }) }]);
      for (const image of ['gcr.io/a', 'gcr.io/b', 'gcr.io/a:2', 'quay.io/a', 'quay.io/a'])
        await providers.getCredentials(image);
      assert.equal(await runs('p'), expected);
    });
  }

  for (const [item, cacheDuration, defaultCacheDuration, expected] of [
    ["F.52: the answer's own duration counts", '1h', '0s', 1],
    ['F.52: zero is none, whatever the default', '0s', '1h', 3],
    ['F.52: a negative one has expired', '-5m', '1h', 3],
    ['F.52: without one the default counts', undefined, '1h', 1],
    ['F.52: and zero there is none', undefined, '0s', 3],
  ] as const) {
    test(item, async (t) => {
      const plugin = { name: 'p', code: respond(anyIo, { cacheDuration }), config: { defaultCacheDuration } };
      const { users, runs } = await startImageProviders(t, [plugin]);
      for (let i = 0; i < 3; i++) assert.deepEqual(await users('gcr.io/a'), ['p u']);
      assert.equal(await runs('p'), expected);
    });
  }

  test('F.53: expires strictly after its time, a hit does not extend it', async (t) => {
    const clock = { now: 0 };
    const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo) }], {
      clock: () => clock.now,
    });
    for (const now of [0, 300_000, 600_000]) {
      clock.now = now;
      await providers.getCredentials('gcr.io/a');
    }
    assert.equal(await runs('p'), 1);
    clock.now = 600_001;
    await providers.getCredentials('gcr.io/a');
    assert.equal(await runs('p'), 2);
  });

  test('F.54: an empty answer is kept too', async (t) => {
    const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: respond({}) }]);
    for (let i = 0; i < 3; i++) await providers.getCredentials('gcr.io/a');
    assert.equal(await runs('p'), 1);
  });

  test('F.57: concurrent pulls of an image share one run, those of two images do not', async (t) => {
    const { providers, runs } = await startImageProviders(t, [
      { name: 'p', code: `sleep 0.2\n${respond(anyIo, { cacheKeyType: 'Registry' })}` },
    ]);
    const images = Array.from({ length: 50 }, (_, index) => `gcr.io/${index % 2 === 0 ? 'a' : 'b'}`);
    await Promise.all(images.map((image) => providers.getCredentials(image)));
    assert.equal(await runs('p'), 2);
  });

  test('a caller who gives up leaves the run to those who ask next', async (t) => {
    const { providers, users, runs } = await startImageProviders(t, [
      { name: 'p', code: `sleep 0.2\n${respond(anyIo)}` },
    ]);
    const controller = new AbortController();
    const asked = providers.getCredentials('gcr.io/a', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(asked, /enough/);
    assert.deepEqual(await users('gcr.io/a'), ['p u']);
    assert.equal(await runs('p'), 1);
  });
});

describe('service accounts (G)', () => {
  const account: ServiceAccount = {
    namespace: 'ns',
    name: 'sa',
    uid: 'uid-1',
    annotations: { role: 'r', team: '', other: 'x' },
  };
  const attributes = (more: object = {}) => ({
    tokenAttributes: {
      serviceAccountTokenAudience: 'registry',
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredServiceAccountAnnotationKeys: ['role'],
      optionalServiceAccountAnnotationKeys: ['team', 'none'],
      ...more,
    },
  });
  const minting = () => {
    const asked: TokenRequest[] = [];
    let token = 'token-1';
    return {
      asked,
      setToken: (next: string) => {
        token = next;
      },
      mintToken: async (request: TokenRequest) => {
        asked.push(request);
        return token;
      },
    };
  };

  test('G.59, G.60: the plugin gets a token for the audience, and the annotations that are asked for, sorted', async (t) => {
    const { asked, mintToken } = minting();
    const { providers, input } = await startImageProviders(
      t,
      [{ name: 'p', code: respond(anyIo), config: attributes() }],
      { mintToken },
    );
    await providers.getCredentials('gcr.io/a', { serviceAccount: account });
    assert.deepEqual(asked, [{ serviceAccount: account, audience: 'registry' }]);
    assert.deepEqual(await input('p'), {
      kind: 'CredentialProviderRequest',
      apiVersion: v1,
      image: 'gcr.io/a',
      serviceAccountToken: 'token-1',
      serviceAccountAnnotations: { role: 'r', team: '' },
    });
  });

  test('G.59: without an account, or without a required annotation, nothing is run and nothing fails', async (t) => {
    const { asked, mintToken } = minting();
    const { providers, runs } = await startImageProviders(
      t,
      [{ name: 'p', code: respond(anyIo), config: attributes() }],
      { mintToken },
    );
    for (const serviceAccount of [undefined, { ...account, annotations: { team: 'x' } }]) {
      const { credentials, failures } = await providers.getCredentials(
        'gcr.io/a',
        serviceAccount ? { serviceAccount } : {},
      );
      assert.deepEqual([credentials, failures], [[], []]);
    }
    assert.equal(await runs('p'), 0);
    assert.deepEqual(asked, []);
  });

  test('G.59: with requireServiceAccount false and no account the plugin is run without a token', async (t) => {
    const config = attributes({ requireServiceAccount: false, requiredServiceAccountAnnotationKeys: [] });
    const { users, input } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo), config }], {
      mintToken: minting().mintToken,
    });
    assert.deepEqual(await users('gcr.io/a'), ['p u']);
    assert.deepEqual(await input('p'), { kind: 'CredentialProviderRequest', apiVersion: v1, image: 'gcr.io/a' });
  });

  for (const [cacheType, expected] of [
    ['ServiceAccount', [1, 1, 2, 3]],
    ['Token', [1, 2, 3, 4]],
  ] as const) {
    test(`G.62: what is cached with ${cacheType} is kept for the account, its annotations${cacheType === 'Token' ? ' and the token' : ''}`, async (t) => {
      const mint = minting();
      const config = attributes({ cacheType });
      const plugin = { name: 'p', code: respond(anyIo, { cacheKeyType: 'Global' }), config };
      const { providers, runs } = await startImageProviders(t, [plugin], { mintToken: mint.mintToken });
      const counts: number[] = [];
      const pull = async (serviceAccount: ServiceAccount) => {
        await providers.getCredentials('gcr.io/a', { serviceAccount });
        counts.push(await runs('p'));
      };
      await pull(account);
      mint.setToken('token-2');
      await pull(account);
      await pull({ ...account, annotations: { ...account.annotations, role: 'r2' } });
      await pull({ ...account, uid: 'uid-2' });
      assert.deepEqual(counts, expected);
    });
  }

  test('G.59: a token that cannot be minted is an error, even where credentials are cached, and says nothing of why', async (t) => {
    let fail = false;
    const mintToken = async () => {
      if (fail) throw new Error('SECRET');
      return 'token-1';
    };
    const { providers } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo), config: attributes() }], {
      mintToken,
    });
    assert.equal((await providers.getCredentials('gcr.io/a', { serviceAccount: account })).credentials.length, 1);
    fail = true;
    const { credentials, failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
    assert.deepEqual(credentials, []);
    assert.equal(failures[0]?.error.code, 'SERVICE_ACCOUNT_FAILED');
    assert.doesNotMatch(inspect(failures), /SECRET/);
  });

  test('G.59: without the option mintToken that is what the error says', async (t) => {
    const { providers } = await startImageProviders(t, [{ name: 'p', code: respond(anyIo), config: attributes() }]);
    const { failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
    assert.match(failures[0]?.error.message ?? '', /tokenAttributes need the option mintToken/);
  });

  for (const [cacheType, expected] of [
    ['ServiceAccount', 'ANSWER_TOKEN_ECHOED'],
    ['Token', undefined],
  ] as const) {
    test(`G.61: the token as a password is ${expected ? 'refused' : 'taken'} with ${cacheType}`, async (t) => {
      const plugin = { name: 'p', code: respond({ '*.io': user('u', 'token-1') }), config: attributes({ cacheType }) };
      const { providers } = await startImageProviders(t, [plugin], { mintToken: minting().mintToken });
      const { failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
      assert.equal(failures[0]?.error.code, expected);
    });
  }
});

describe('several providers (H)', () => {
  test('H.64: one that fails does not take the others down, and is reported', async (t) => {
    const { providers } = await startImageProviders(t, [
      { name: 'bad', code: 'exit 1' },
      { name: 'good', code: respond(anyIo) },
    ]);
    const { credentials, failures } = await providers.getCredentials('gcr.io/a');
    assert.deepEqual(
      credentials.map(({ provider, pattern }) => [provider, pattern]),
      [['good', '*.io']],
    );
    assert.deepEqual(
      failures.map(({ provider }) => provider),
      ['bad'],
    );
  });

  test('H.66, H.67: patterns in descending order, and for one pattern the earlier provider first', async (t) => {
    const first = { '*.io': user('1'), 'gcr.io': user('2'), 'gcr.io/a': user('3'), 'other.io': user('x') };
    const second = { 'gcr.io/a/b': user('4'), 'gcr.io': user('5'), 'g*.io': user('6') };
    const { users } = await startImageProviders(t, [
      { name: 'p', code: respond(first) },
      { name: 'q', code: respond(second) },
    ]);
    assert.deepEqual(await users('gcr.io/a/b'), ['q 4', 'p 3', 'p 2', 'q 5', 'q 6', 'p 1']);
  });

  test('H.65: keys lose scheme, user and API version; what is no URL is passed over', async (t) => {
    const auth = {
      'https://gcr.io/v1/a': user('1'),
      'http://u:p@gcr.io/v2/': user('2'),
      'Https://gcr.io': user('x'),
      'g cr.io': user('x'),
    };
    const { providers } = await startImageProviders(t, [{ name: 'p', code: respond(auth) }]);
    const { credentials } = await providers.getCredentials('gcr.io/a');
    assert.deepEqual(
      credentials.map(({ pattern, username }) => [pattern, username]),
      [
        ['gcr.io/a', '1'],
        ['gcr.io', '2'],
      ],
    );
  });

  test('H.68: the default registry has a key of its own, which counts where nothing else matches', async (t) => {
    const hub = { 'https://index.docker.io/v1/': user('hub') };
    const { users } = await startImageProviders(t, [{ name: 'p', code: respond(hub) }]);
    assert.deepEqual(await users('nginx'), ['p hub']);
    const other = await startImageProviders(t, [{ name: 'p', code: respond({ ...hub, 'docker.io': user('own') }) }]);
    assert.deepEqual(await other.users('nginx'), ['p own']);
    assert.deepEqual(await users('gcr.io/a'), []);
  });

  test('toDockerConfig has registries, and repositories where they differ', async (t) => {
    const auth = { 'gcr.io/a': user('a'), 'gcr.io': user('all'), 'quay.io': user('quay'), 'docker.io': user('hub') };
    const { providers } = await startImageProviders(t, [{ name: 'p', code: respond(auth) }]);
    const encode = (text: string) => ({ auth: Buffer.from(`${text}:pw`).toString('base64') });
    assert.deepEqual(await providers.toDockerConfig('quay.io/x:1'), { auths: { 'quay.io': encode('quay') } });
    assert.deepEqual(
      await providers.toDockerConfig(['gcr.io/a', 'gcr.io/b', 'nginx', 'quay.io/x', 'quay.io/y', 'none.example.com/x']),
      {
        auths: {
          'gcr.io/a': encode('a'),
          'gcr.io/b': encode('all'),
          'https://index.docker.io/v1/': encode('hub'),
          'quay.io': encode('quay'),
        },
      },
    );
  });

  test('a credential prints without its password, and a failure without what the plugin printed', async (t) => {
    const secret = 'SECRET-5d1f';
    const said: string[] = [];
    const logger = { warn: (fields: object, message: string) => said.push(JSON.stringify(fields), message) };
    const { providers } = await startImageProviders(
      t,
      [
        { name: 'p', code: respond({ '*.io': user('u', secret) }) },
        { name: 'q', code: `${respond({ '*.io': user('u', secret) }, { extra: secret })}\necho ${secret} >&2` },
      ],
      { logger },
    );
    const result = await providers.getCredentials('gcr.io/a');
    assert.equal(result.credentials[0]?.password, secret);
    assert.equal(result.failures.length, 1);
    for (const text of [
      ...said,
      inspect(result, { depth: 9 }),
      JSON.stringify(result),
      inspect(providers, { depth: 9 }),
    ]) {
      assert.ok(!text.includes(secret), text);
    }
  });
});

describe('metrics (I)', () => {
  test('I.72, I.73: executions are counted and timed, failed ones too; what an answer is worth and cache hits are not', async (t) => {
    const registry = new Registry();
    const metrics = new ImageCredentialMetrics({ registry });
    const { providers } = await startImageProviders(
      t,
      [
        { name: 'good', code: respond(anyIo) },
        { name: 'failing', code: 'exit 1' },
        { name: 'slow', code: 'sleep 60' },
        { name: 'nonsense', code: 'echo {' },
      ],
      { metrics, timeoutMs: 500 },
    );
    await providers.getCredentials('gcr.io/a');
    await providers.getCredentials('gcr.io/a');
    const text = await registry.metrics();
    const value = (series: string) =>
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1];
    for (const [name, errors] of [
      ['good', undefined],
      ['failing', '1'],
      ['slow', '1'],
      ['nonsense', undefined],
    ] as const) {
      assert.equal(value(`kubelet_credential_provider_plugin_errors_total{plugin_name="${name}"}`), errors, name);
      assert.equal(value(`kubelet_credential_provider_plugin_duration_count{plugin_name="${name}"}`), '1', name);
    }
  });
});

describe('close()', () => {
  test('ends the plugins that run', async (t) => {
    const { providers, runs } = await startImageProviders(t, [{ name: 'p', code: 'sleep 60' }]);
    const asked = providers.getCredentials('gcr.io/a');
    while ((await runs('p')) === 0) await new Promise((resolve) => setImmediate(resolve));
    await providers.close();
    assert.equal((await asked).failures[0]?.error.code, 'PLUGIN_STOPPED');
  });
});

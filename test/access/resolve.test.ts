import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { AccessProvider, Cluster, ClusterProfile } from '../../src/access/cluster-profile.ts';
import { configureProviders, type Provider } from '../../src/access/provider.ts';
import { type ResolvedAccess, resolve } from '../../src/access/resolve.ts';
import { ProfileError, type ProfileErrorCode } from '../../src/errors.ts';
import { caData } from '../fixtures/ca.ts';

const execExtension = 'client.authentication.k8s.io/exec';
const argsExtension = 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args';
const envsExtension = 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs';
const server = 'https://spoke-1.example.dev:6443';

function provider(settings: Partial<Provider> = {}, exec: Partial<Provider['execConfig']> = {}): Provider {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/p', ...exec } as const;
  return { name: 'google', ...settings, execConfig };
}

function profileOf(status: ClusterProfile['status']): ClusterProfile {
  return { metadata: { name: 'spoke-1', namespace: 'fleet' }, ...(status ? { status } : {}) };
}

/** A cluster may be as wrong as an API server without a CRD would store it. */
function resolveCluster(
  cluster: object | undefined,
  settings?: Partial<Provider>,
  exec?: Partial<Provider['execConfig']>,
): ResolvedAccess {
  const entry = { name: 'google', ...(cluster ? { cluster } : {}) } as AccessProvider; // see above
  return resolve(profileOf({ accessProviders: [entry] }), configureProviders([provider(settings, exec)]));
}

function withExtension(name: string, extension: unknown): object {
  return { server, extensions: [{ name, extension }] };
}

function refusal(run: () => unknown): ProfileError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ProfileError, String(error));
    assert.equal(error.profile, 'fleet/spoke-1');
    assert.match(error.message, /^ClusterProfile fleet\/spoke-1: /);
    return error;
  }
  throw new assert.AssertionError({ message: 'no error' });
}

function refused(
  cluster: object | undefined,
  code: ProfileErrorCode,
  path: string,
  settings?: Partial<Provider>,
): ProfileError {
  const error = refusal(() => resolveCluster(cluster, settings));
  assert.deepEqual([error.code, error.path], [code, `status.accessProviders[0].cluster${path}`]);
  return error;
}

describe('which provider serves a profile', () => {
  const providers = configureProviders([provider({ name: 'aws' }), provider({ name: 'google' })]);
  const entry = (name: string, host = name): AccessProvider => ({ name, cluster: { server: `https://${host}` } });

  test("is the first in the operator's order that the profile lists", () => {
    const access = resolve(profileOf({ accessProviders: [entry('google'), entry('aws')] }), providers);
    assert.equal(access.provider, 'aws');
    assert.equal(access.cluster.server, 'https://aws');
  });

  test('may be listed in the deprecated credentialProviders', () => {
    assert.equal(resolve(profileOf({ credentialProviders: [entry('google')] }), providers).provider, 'google');
  });

  test('is described by accessProviders where both lists name it', () => {
    const status = { credentialProviders: [entry('aws', 'old')], accessProviders: [entry('aws', 'new')] };
    assert.equal(resolve(profileOf(status), providers).cluster.server, 'https://new');
  });

  test('without a match is an error that names the profile, what it offers and what is configured', () => {
    const error = refusal(() =>
      resolve(profileOf({ accessProviders: [entry('kubelogin'), entry('spire')] }), providers),
    );
    assert.equal(error.code, 'NO_MATCHING_PROVIDER');
    assert.match(error.message, /offers kubelogin, spire, and configured are aws, google/);
    assert.match(refusal(() => resolve(profileOf({}), [])).message, /offers nothing, and configured is no provider/);
  });

  test('cannot be told from a profile without status, or with two entries of one name', () => {
    assert.equal(refusal(() => resolve(profileOf(undefined), providers)).code, 'NO_MATCHING_PROVIDER');
    const twice = profileOf({ accessProviders: [entry('aws'), entry('aws', 'other')] });
    assert.equal(refusal(() => resolve(twice, providers)).path, 'status.accessProviders[1].name');
  });

  test('is told from lists only', () => {
    for (const accessProviders of [{}, 'aws', [null], ['aws'], [{}], [{ name: 1 }]]) {
      // @ts-expect-error not a list of access providers
      assert.equal(refusal(() => resolve(profileOf({ accessProviders }), providers)).code, 'PROFILE_INVALID');
    }
  });
});

describe('cluster', () => {
  test('is required', () => {
    refused(undefined, 'CLUSTER_MISSING', '');
    // @ts-expect-error not an object
    assert.equal(refusal(() => resolveCluster('text')).code, 'CLUSTER_INVALID');
  });

  test('has every field honoured', () => {
    const { cluster, ignored } = resolveCluster({
      server,
      'certificate-authority-data': caData,
      'tls-server-name': 'kubernetes.default',
      'proxy-url': 'socks5://proxy.example.dev:1080',
      'disable-compression': true,
    });
    assert.deepEqual(cluster, {
      server,
      certificateAuthorityData: caData,
      tlsServerName: 'kubernetes.default',
      insecureSkipTlsVerify: false,
      proxyUrl: 'socks5://proxy.example.dev:1080',
      disableCompression: true,
    });
    assert.deepEqual(ignored, []);
  });

  test('treats null and empty text as absent', () => {
    const { cluster } = resolveCluster({
      server,
      'tls-server-name': '',
      'proxy-url': null,
      'insecure-skip-tls-verify': null,
      extensions: null,
    });
    assert.deepEqual(cluster, { server, insecureSkipTlsVerify: false, disableCompression: false });
  });

  test('cannot have fields of the wrong type', () => {
    refused({ server: 1 }, 'CLUSTER_INVALID', '.server');
    refused({ server, 'insecure-skip-tls-verify': 'true' }, 'CLUSTER_INVALID', '.insecure-skip-tls-verify');
    refused({ server, 'disable-compression': 1 }, 'CLUSTER_INVALID', '.disable-compression');
    refused({ server, extensions: {} }, 'CLUSTER_INVALID', '.extensions');
    refused({ server, extensions: [{ extension: 1 }] }, 'CLUSTER_INVALID', '.extensions[0].name');
    refused({ server, 'tls-server-name': 'a b' }, 'CLUSTER_INVALID', '.tls-server-name');
  });

  test('reports certificate-authority and unknown fields as ignored', () => {
    const { ignored } = resolveCluster({ server, 'certificate-authority': '/etc/ca.pem', token: 'x' });
    assert.deepEqual(ignored.map(({ path }) => path).sort(), [
      'status.accessProviders[0].cluster.certificate-authority',
      'status.accessProviders[0].cluster.token',
    ]);
  });
});

describe('cluster.server', () => {
  for (const [given, resolved] of [
    ['https://h', 'https://h'],
    ['https://h/', 'https://h'],
    ['HTTPS://h:6443', 'https://h:6443'],
    ['https://connectgateway.example.com/v1/projects/1/', 'https://connectgateway.example.com/v1/projects/1'],
    ['https://[::1]:6443', 'https://[::1]:6443'],
  ] as const) {
    test(`${given} is ${resolved}`, () => assert.equal(resolveCluster({ server: given }).cluster.server, resolved));
  }

  for (const bad of [
    'h',
    'h:443',
    '//h',
    'https:',
    'https://',
    'https:///x',
    'https:/h',
    'https:\\\\h',
    'https://h\\@x',
    'https://a b',
    'https://h\n',
    'https://h:99999',
    'ftp://h',
    'https://h?',
    'https://h?a=b',
    'https://h#',
    'https://h/#a',
  ]) {
    test(`${JSON.stringify(bad)} is refused`, () => {
      refused({ server: bad }, 'SERVER_INVALID', '.server');
    });
  }

  test('is required', () => {
    refused({}, 'SERVER_INVALID', '.server');
  });

  test('must not hold a user or password, and the error does not show it', () => {
    const error = refused({ server: 'https://user:hunter2@h' }, 'SERVER_INVALID', '.server');
    assert.ok(!error.message.includes('hunter2'));
  });

  test('http:// is refused without allowInsecureTLS, and with it on anything but loopback', () => {
    const error = refused({ server: 'http://127.0.0.1:8080' }, 'SERVER_INSECURE', '.server');
    assert.match(error.message, /allowInsecureTLS: true on provider google/);
    refused({ server: 'http://h' }, 'SERVER_INSECURE', '.server', { allowInsecureTLS: true });
    for (const server of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1']) {
      assert.equal(resolveCluster({ server }, { allowInsecureTLS: true }).cluster.server, server);
    }
  });
});

describe('TLS', () => {
  test('insecure-skip-tls-verify is refused, with an error that says how to allow it', () => {
    const cluster: Cluster = { server, 'insecure-skip-tls-verify': true };
    const error = refused(cluster, 'SERVER_INSECURE', '.insecure-skip-tls-verify');
    assert.match(error.message, /set allowInsecureTLS: true on provider google/);
    assert.equal(resolveCluster(cluster, { allowInsecureTLS: true }).cluster.insecureSkipTlsVerify, true);
  });

  test('a CA beside insecure-skip-tls-verify is an error', () => {
    const cluster = { server, 'insecure-skip-tls-verify': true, 'certificate-authority-data': caData };
    refused(cluster, 'CA_INVALID', '.certificate-authority-data', { allowInsecureTLS: true });
  });

  test('line breaks in the base64 of a CA are passed over', () => {
    const wrapped = caData.replace(/.{64}/g, '$&\n');
    assert.equal(
      resolveCluster({ server, 'certificate-authority-data': wrapped }).cluster.certificateAuthorityData,
      caData,
    );
  });

  for (const [what, data] of [
    ['is not base64', '!!!'],
    ['is unpadded base64', 'YWJjZA'],
    ['is not PEM', Buffer.from('hello').toString('base64')],
    [
      'is PEM of something that is no certificate',
      Buffer.from('-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----').toString('base64'),
    ],
  ] as const) {
    test(`a CA that ${what} is an error`, () => {
      refused({ server, 'certificate-authority-data': data }, 'CA_INVALID', '.certificate-authority-data');
    });
  }
});

describe('proxy-url', () => {
  for (const bad of [
    'ftp://p',
    'socks4://p',
    'p:8080',
    'http://',
    'http://user@p',
    'http://u:hunter2@p',
    'http://a b',
  ]) {
    test(`${bad} is refused`, () => {
      const error = refused({ server, 'proxy-url': bad }, 'PROXY_INVALID', '.proxy-url');
      assert.ok(!error.message.includes('hunter2'));
    });
  }
});

describe('the exec extension', () => {
  const exec = { provideClusterInfo: true };

  test('goes to exec.config verbatim, whatever JSON it is', () => {
    for (const value of [{ clusterName: 'spoke-1' }, [], {}, 'text', 0, 1.5, false, [{ a: [null] }]]) {
      const access = resolveCluster(withExtension(execExtension, value), {}, exec);
      assert.deepEqual(access.exec.config, value);
      assert.deepEqual(access.ignored, []);
    }
  });

  test('is none when it is null or missing', () => {
    const nothing = [{ name: execExtension }];
    assert.ok(!('config' in resolveCluster({ server, extensions: nothing }, {}, exec).exec));
    assert.ok(!('config' in resolveCluster(withExtension(execExtension, null), {}, exec).exec));
  });

  test('is listed in ignored when the plugin is given no cluster information', () => {
    const { ignored, exec } = resolveCluster(withExtension(execExtension, { a: 1 }));
    assert.deepEqual(exec.config, { a: 1 });
    assert.deepEqual(ignored, [
      {
        path: 'status.accessProviders[0].cluster.extensions[0].extension',
        reason: 'provideClusterInfo of provider google is false',
      },
    ]);
  });

  test('cannot hold an integer that has already lost digits, and the error gives its path', () => {
    const cluster = withExtension(execExtension, JSON.parse('{"a":[{"id":12345678901234567890}]}'));
    refused(cluster, 'EXTENSION_INVALID', '.extensions[0].extension.a[0].id');
  });

  test('is a copy: later changes to the profile do not reach it', () => {
    const extension = { clusterName: 'a' };
    const access = resolveCluster(withExtension(execExtension, extension), {}, exec);
    extension.clusterName = 'b';
    assert.deepEqual(access.exec.config, { clusterName: 'a' });
  });

  test('may not nest without end', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    assert.equal(refusal(() => resolveCluster(withExtension(execExtension, cyclic))).code, 'EXTENSION_INVALID');
  });
});

describe('extensions', () => {
  test('of one name twice are an error', () => {
    const extensions = [
      { name: execExtension, extension: 1 },
      { name: execExtension, extension: 2 },
    ];
    refused({ server, extensions }, 'EXTENSION_INVALID', '.extensions[1].name');
  });

  test('that this library does not know are listed in ignored', () => {
    const { ignored } = resolveCluster(withExtension('client.authentication.k8s.io/exce', {}));
    assert.match(ignored[0]?.reason ?? '', /not an extension that this library reads/);
  });
});

describe('additional-args', () => {
  const append = { profileSourcedCLIArgsPolicy: 'Append' } as const;
  const path = '.extensions[0].extension';

  test('are appended under Append, without de-duplication', () => {
    const { exec } = resolveCluster(withExtension(argsExtension, ['-a', '-a', 'x y']), append, { args: ['-a'] });
    assert.deepEqual(exec.args, ['-a', '-a', '-a', 'x y']);
  });

  test('are not even looked at under Ignore, only listed in ignored', () => {
    for (const value of [['-a'], { not: 'a list' }, [null], 1.5]) {
      const { exec, ignored } = resolveCluster(withExtension(argsExtension, value), {}, { args: ['-x'] });
      assert.deepEqual(exec.args, ['-x']);
      assert.deepEqual(ignored, [
        {
          path: `status.accessProviders[0].cluster${path}`,
          reason: 'profileSourcedCLIArgsPolicy of provider google is Ignore',
        },
      ]);
    }
  });

  test('may be integers and booleans, which become their text', () => {
    assert.deepEqual(resolveCluster(withExtension(argsExtension, [7, -1, true, false, '']), append).exec.args, [
      '7',
      '-1',
      'true',
      'false',
      '',
    ]);
  });

  test('are none when null', () => {
    assert.deepEqual(resolveCluster(withExtension(argsExtension, null), append).exec.args, []);
  });

  for (const bad of [null, 1.5, 2 ** 60, [], {}, 'a\0b']) {
    test(`cannot be ${JSON.stringify(bad)}`, () => {
      refused(withExtension(argsExtension, ['ok', bad]), 'ARG_INVALID', `${path}[1]`, append);
    });
  }

  test('must be a list', () => {
    for (const bad of [{}, 'text', 1, true]) refused(withExtension(argsExtension, bad), 'ARG_INVALID', path, append);
  });
});

describe('additional-envs', () => {
  const env = [
    { name: 'Z', value: 'operator' },
    { name: 'B', value: 'operator' },
  ];
  const envs = { B: 'profile', D: 'profile', C: 'profile' };
  const path = '.extensions[0].extension';
  const policy = (profileSourcedEnvVarsPolicy: 'Replace' | 'AppendIfNotExists' | 'Ignore') => ({
    profileSourcedEnvVarsPolicy,
  });
  const text = (access: ResolvedAccess) => access.exec.env.map(({ name, value }) => `${name}=${value}`).join(' ');

  test("Replace: the profile's value wins and keeps the place; added ones follow, sorted by name", () => {
    const access = resolveCluster(withExtension(envsExtension, envs), policy('Replace'), { env });
    assert.equal(text(access), 'Z=operator B=profile C=profile D=profile');
    assert.deepEqual(access.ignored, []);
  });

  test("AppendIfNotExists: the operator's value wins, and the loser is listed in ignored", () => {
    const access = resolveCluster(withExtension(envsExtension, envs), policy('AppendIfNotExists'), { env });
    assert.equal(text(access), 'Z=operator B=operator C=profile D=profile');
    assert.deepEqual(
      access.ignored.map((item) => item.path),
      [`status.accessProviders[0].cluster${path}["B"]`],
    );
  });

  test('Ignore: nothing, and nothing is checked', () => {
    for (const value of [envs, [], 1, { '': null }]) {
      const access = resolveCluster(withExtension(envsExtension, value), policy('Ignore'), { env });
      assert.equal(text(access), 'Z=operator B=operator');
      assert.equal(access.ignored.length, 1);
    }
  });

  test('integers and booleans become their text; null is none', () => {
    const access = resolveCluster(withExtension(envsExtension, { A: 1, B: true, C: '' }), policy('Replace'));
    assert.equal(text(access), 'A=1 B=true C=');
    assert.equal(text(resolveCluster(withExtension(envsExtension, null), policy('Replace'))), '');
  });

  test('hostile names are plain data', () => {
    const extension: unknown = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}');
    const access = resolveCluster(withExtension(envsExtension, extension), policy('Replace'));
    assert.equal(text(access), '__proto__=a constructor=b toString=c');
  });

  for (const [name, value] of [
    ['A', null],
    ['A', 1.5],
    ['A', 2 ** 60],
    ['A', []],
    ['A', {}],
    ['A', 'a\0b'],
    ['', 'x'],
    ['A=B', 'x'],
    ['A\0', 'x'],
    ['KUBERNETES_EXEC_INFO', 'x'],
  ] as const) {
    test(`cannot be ${JSON.stringify({ [name]: value })}`, () => {
      const cluster = withExtension(envsExtension, { OK: '1', [name]: value });
      refused(cluster, 'ENV_INVALID', `${path}[${JSON.stringify(name)}]`, policy('Replace'));
    });
  }

  test('must be an object', () => {
    for (const bad of [[], 'text', 1])
      refused(withExtension(envsExtension, bad), 'ENV_INVALID', path, policy('AppendIfNotExists'));
  });
});

describe('resolve, whatever it is given', () => {
  const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', 'A', 'B'), fc.string());
  const json = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, 1.5, -7, 2 ** 60),
      fc.string(),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
    ),
  })).value;
  const extension = fc.record({
    name: fc.constantFrom(execExtension, argsExtension, envsExtension, 'other'),
    extension: json,
  });
  const cluster = fc.record(
    {
      server: fc.oneof(fc.constantFrom(server, 'https://h/p', 'http://127.0.0.1'), fc.webUrl(), json),
      extensions: fc.oneof(
        { weight: 9, arbitrary: fc.uniqueArray(extension, { selector: ({ name }) => name }) },
        { weight: 1, arbitrary: json },
      ),
      'certificate-authority-data': fc.constantFrom(undefined, caData, 'x'),
      'insecure-skip-tls-verify': fc.constantFrom(undefined, false, true),
      'proxy-url': fc.constantFrom(undefined, '', 'http://p', 'x'),
    },
    { requiredKeys: ['server'] },
  );
  const entry = fc.record({
    name: fc.constantFrom('google', 'aws', 'other'),
    cluster: fc.oneof({ weight: 9, arbitrary: cluster }, { weight: 1, arbitrary: json }),
  });
  const profile = fc.record({
    metadata: fc.oneof(fc.constant({ name: 'a', namespace: 'b' }), json),
    status: fc.oneof(
      { weight: 9, arbitrary: fc.record({ accessProviders: fc.array(entry, { maxLength: 3 }) }) },
      { weight: 1, arbitrary: json },
    ),
  }) as fc.Arbitrary<ClusterProfile>; // most of them are not, which is the point
  const providers = fc.record({
    profileSourcedCLIArgsPolicy: fc.constantFrom('Append', 'Ignore'),
    profileSourcedEnvVarsPolicy: fc.constantFrom('AppendIfNotExists', 'Replace', 'Ignore'),
    allowInsecureTLS: fc.boolean(),
  } as const);
  const exec = { args: ['-x'], env: [{ name: 'A', value: 'operator' }] };

  test('throws nothing but our errors, changes no input, and gives the same output for the same input', () => {
    fc.assert(
      fc.property(profile, providers, (given, settings) => {
        const configured = configureProviders([
          provider({ ...settings, name: 'google' }, exec),
          provider({ ...settings, name: 'aws' }, exec),
        ]);
        const before = JSON.stringify([given, configured]);
        const outcomes = [1, 2].map(() => {
          try {
            return resolve(given, configured);
          } catch (error) {
            assert.ok(error instanceof ProfileError, String(error));
            return error.message;
          }
        });
        assert.deepEqual(outcomes[0], outcomes[1]);
        assert.equal(JSON.stringify([given, configured]), before);
        if (typeof outcomes[0] === 'object') assert.deepEqual(JSON.parse(JSON.stringify(outcomes[0])), outcomes[0]);
      }),
      { numRuns: 2000 },
    );
  });

  test("under Ignore lets nothing of the profile's args and envs through", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.dictionary(fc.string(), fc.string()), (args, envs) => {
        const extensions = [
          { name: argsExtension, extension: args },
          { name: envsExtension, extension: envs },
        ];
        const access = resolveCluster({ server, extensions }, {}, exec);
        assert.deepEqual([access.exec.args, access.exec.env], [exec.args, exec.env]);
      }),
    );
  });

  test('lets nothing of one profile reach the next', () => {
    const configured = configureProviders([
      provider({ profileSourcedCLIArgsPolicy: 'Append', profileSourcedEnvVarsPolicy: 'Replace' }, exec),
    ]);
    const extensions = [
      { name: argsExtension, extension: ['-leak'] },
      { name: envsExtension, extension: { A: 'leak', LEAK: 'leak' } },
    ];
    resolve(profileOf({ accessProviders: [{ name: 'google', cluster: { server, extensions } }] }), configured);
    const access = resolve(profileOf({ accessProviders: [{ name: 'google', cluster: { server } }] }), configured);
    assert.ok(!JSON.stringify(access).includes('leak'));
  });
});

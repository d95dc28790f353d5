import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ResolvedAccess } from '../../src/access/resolve.ts';
import {
  argsExtension,
  envsExtension,
  execExtension,
  refused,
  resolveCluster,
  server,
  withExtension,
} from '../fixtures/resolving.ts';

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
    const path = 'status.accessProviders[0].cluster.extensions[0].extension';
    assert.deepEqual(ignored, [{ path, reason: 'provideClusterInfo of provider google is false' }]);
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
});

describe('extensions', () => {
  test('of one name twice are an error', () => {
    const extensions = [1, 2].map((extension) => ({ name: execExtension, extension }));
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

  test('may be integers and booleans, which become their text; null is none', () => {
    const { exec } = resolveCluster(withExtension(argsExtension, [7, -1, true, false, '']), append);
    assert.deepEqual(exec.args, ['7', '-1', 'true', 'false', '']);
    assert.deepEqual(resolveCluster(withExtension(argsExtension, null), append).exec.args, []);
  });

  for (const bad of [null, 1.5, 2 ** 60, [], {}, 'a\0b']) {
    test(`cannot be ${JSON.stringify(bad)}`, () => {
      refused(withExtension(argsExtension, ['ok', bad]), 'EXTENSION_INVALID', `${path}[1]`, append);
    });
  }

  test('must be a list, without holes', () => {
    for (const bad of [{}, 'text', 1, true])
      refused(withExtension(argsExtension, bad), 'EXTENSION_INVALID', path, append);
    // Of a profile that code has made.
    refused(withExtension(argsExtension, new Array(1)), 'EXTENSION_INVALID', `${path}[0]`, append);
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
    const ignored = access.ignored.map((item) => item.path);
    assert.deepEqual(ignored, [`status.accessProviders[0].cluster${path}["B"]`]);
  });

  test("AppendIfNotExists: what is added stands back where the process's own environment has it, which is for the run to see", () => {
    const appended = resolveCluster(withExtension(envsExtension, envs), policy('AppendIfNotExists'), { env });
    assert.deepEqual(appended.exec.appendIfNotExists, ['C', 'D']);
    const replaced = resolveCluster(withExtension(envsExtension, envs), policy('Replace'), { env });
    assert.ok(!('appendIfNotExists' in replaced.exec));
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
    ['', 'x'],
    ['A=B', 'x'],
    ['A\0', 'x'],
    ['KUBERNETES_EXEC_INFO', 'x'],
  ] as const) {
    test(`cannot be ${JSON.stringify({ [name]: value })}`, () => {
      const cluster = withExtension(envsExtension, { OK: '1', [name]: value });
      refused(cluster, 'EXTENSION_INVALID', `${path}[${JSON.stringify(name)}]`, policy('Replace'));
    });
  }

  test('must be an object', () => {
    for (const bad of [[], 'text', 1])
      refused(withExtension(envsExtension, bad), 'EXTENSION_INVALID', path, policy('AppendIfNotExists'));
  });
});

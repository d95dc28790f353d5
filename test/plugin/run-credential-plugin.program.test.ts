import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { AnswerFault } from '../../src/exec/credential.ts';
import { decodeExecCredential } from '../../src/exec/exec-credential.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';

const v1 = 'client.authentication.k8s.io/v1';
/** What authors get: the built package. */
const module = new URL('../../dist/plugin/index.js', import.meta.url).href;
const asked = { kind: 'ExecCredential', apiVersion: v1 };

const answering = `() => ({ token: 't', expirationTimestamp: null })`;

/** Runs a plugin whose function is `handler`. */
function run(handler: string, info: object | undefined = asked) {
  return runProgram(`await runCredentialPlugin(${handler});`, info);
}

function runProgram(code: string, info: object | undefined = asked) {
  const program = `import { runCredentialPlugin } from '${module}'; ${code}`;
  const env = { KUBERNETES_EXEC_INFO: info ? JSON.stringify(info) : '', ISSUER: 'http://127.0.0.1:1' };
  return execa(process.execPath, ['--input-type=module', '--eval', program], { env, reject: false });
}

describe('runCredentialPlugin', { concurrency: 2 }, () => {
  test('answers in the version that it was asked in', async () => {
    const handler = `({ spec }) => ({ token: spec.cluster.config.name, expirationTimestamp: new Date(Date.UTC(2100, 0)) })`;
    for (const apiVersion of [v1, `${v1}beta1`]) {
      const { stdout, stderr, exitCode } = await run(handler, {
        kind: 'ExecCredential',
        apiVersion,
        spec: { cluster: { server: 's', config: { name: 'x' } } },
      });
      assert.deepEqual([exitCode, stderr], [0, '']);
      assert.deepEqual(JSON.parse(stdout), {
        kind: 'ExecCredential',
        apiVersion,
        status: { token: 'x', expirationTimestamp: '2100-01-01T00:00:00Z' },
      });
    }
  });

  test('tells a failure on stderr, in one line, and exits with 1', async () => {
    const failed = await run(`() => { throw new Error('no token for you') }`);
    assert.deepEqual([failed.exitCode, failed.stdout, failed.stderr], [1, '', 'no token for you']);
    const alone = await run('() => ({})', null as unknown as undefined); // no input at all
    assert.equal(alone.exitCode, 1);
    assert.match(alone.stderr, /KUBERNETES_EXEC_INFO is not set or empty/);
  });

  for (const [what, thrown, expected] of [
    ['nothing', 'undefined', 'the plugin failed'],
    [
      'a chain of causes',
      `new Error('no login', { cause: new Error('issuer', { cause: 'out of paper' }) })`,
      'no login: issuer: out of paper',
    ],
    ['several at once', `new AggregateError([new Error('first')], 'both failed')`, 'both failed: first'],
  ] as const) {
    test(`tells all that there is to say where ${what} was thrown`, async () => {
      const { exitCode, stderr } = await run(`() => { throw ${thrown}; }`);
      assert.deepEqual([exitCode, stderr], [1, expected]);
    });
  }

  for (const [what, handler, expected] of [
    [
      'throws in a callback',
      `() => new Promise(() => setTimeout(() => { throw new Error('Authorization: Bearer abc123') }))`,
      /^Authorization: Bearer \[redacted\]$/,
    ],
    [
      'leaves a rejection to nobody',
      `() => new Promise(() => { Promise.reject(new Error('no login')); setTimeout(() => {}, 1e6); })`,
      /^no login$/,
    ],
    ['misspells a field', `() => ({ token: 't', expirationTimeStamp: null })`, /did you mean expirationTimestamp\?$/],
    [
      'cannot fetch',
      'async () => ({ token: await fetch(process.env.ISSUER).then((r) => r.text()) })',
      /^fetch failed: .+$/,
    ],
    ['gives no status', '() => {}', /^the plugin gave no status: return \{ token, expirationTimestamp \}$/],
    [
      'gives an expiry in seconds',
      `() => ({ token: 't', expirationTimestamp: 1893456000 })`,
      /is of the type number: give a Date, or text such as .*new Date\(1000 \* seconds\)$/,
    ],
    ['gives an invalid Date', `() => ({ token: 't', expirationTimestamp: new Date('x') })`, /Invalid time value$/],
    ['gives a whole ExecCredential', `() => ({ status: { token: 't' } })`, /return its status alone$/],
  ] as const) {
    test(`fails, in one line, where its function ${what}`, async () => {
      const { exitCode, stdout, stderr } = await run(handler);
      assert.deepEqual([exitCode, stdout], [1, '']);
      assert.match(stderr, expected);
    });
  }

  test('leaves what was thrown to a listener of the plugin', async () => {
    const own = `process.on('uncaughtException', () => { console.error('mine'); process.exit(5); });`;
    const late = `setTimeout(() => { throw new Error('theirs') })`;
    const { exitCode, stderr } = await runProgram(
      `${own} await runCredentialPlugin(() => new Promise(() => ${late}));`,
    );
    assert.deepEqual([exitCode, stderr], [5, 'mine']);
  });

  for (const [what, handler, expected] of [
    ['has answered', answering, [0, '']],
    ['has failed', `() => { throw new Error('no login') }`, [1, 'no login']],
  ] as const) {
    test(`ends the process when it ${what}, though a timer and a server are still open, and runs nothing more`, async () => {
      const open = `import { createServer } from 'node:net'; setInterval(() => {}, 1e6); createServer().listen(0, '127.0.0.1');`;
      const program = `${open} await runCredentialPlugin(${handler}); console.error('after it');`;
      const { exitCode, stdout, stderr } = await runProgram(program);
      assert.deepEqual([exitCode, stderr], expected);
      assert.equal(stdout === '' ? undefined : JSON.parse(stdout).status.token, exitCode === 0 ? 't' : undefined);
    });
  }

  test('writes the longest answer whole before it ends', async () => {
    const { exitCode, stdout } = await run(`() => ({ token: 'x'.repeat(1_000_000), expirationTimestamp: null })`);
    assert.equal(exitCode, 0);
    assert.equal(JSON.parse(stdout).status.token.length, 1_000_000);
  });

  test('prints what looks like a credential on neither stream when it fails, and keeps to one line', async () => {
    const secret = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2ln';
    const handler = `() => { throw new Error('the issuer said:\\n  Authorization: Bearer abc123', { cause: '\\u001b[31m${secret}' }); }`;
    const { exitCode, stdout, stderr } = await run(handler);
    assert.deepEqual([exitCode, stdout], [1, '']);
    assert.equal(stderr, 'the issuer said: Authorization: Bearer [redacted] [redacted JWT]');
  });

  describe('keeps stdout for the answer', { concurrency: 2 }, () => {
    const status = `{ token: 't', expirationTimestamp: null }`;
    for (const [how, code, expected] of [
      ['console.log', `console.log('asking %s', 'now')`, 'asking now'],
      ['process.stdout.write', `await new Promise((done) => process.stdout.write('progress', done))`, 'progress'],
      ['the answer itself', `console.log(JSON.stringify({ status: { token: 'sesame' } }))`, '"[redacted]"'],
    ] as const) {
      test(`of ${how} before the answer: it goes to stderr, with a word`, async () => {
        const { exitCode, stdout, stderr } = await run(`async () => { ${code}; return ${status}; }`);
        assert.equal(exitCode, 0);
        assert.deepEqual(JSON.parse(stdout).status, { token: 't' });
        assert.match(stderr, /^stdout is for the answer alone, so this is on stderr \(log with console.error\):\n/);
        assert.ok(stderr.includes(expected), stderr);
        assert.doesNotMatch(stderr, /sesame/);
      });
    }

    test('of what is printed at its exit too, and says so once', async () => {
      const atExit = `process.on('exit', () => console.log(2));`;
      const handler = `() => { console.log(1); return ${status}; }`;
      const { stdout, stderr } = await runProgram(`${atExit} await runCredentialPlugin(${handler});`);
      assert.deepEqual(JSON.parse(stdout).status, { token: 't' });
      assert.match(stderr, /^stdout is for[^\n]*\n1\n2$/);
    });
  });

  test('warns of a credential without an expiry, unless null says that this is meant, and of one that has passed', async () => {
    for (const [expiry, expected] of [
      ['undefined', /^warning: no expirationTimestamp: the client keeps .* or null where it has none$/],
      ['null', /^$/],
      ['new Date(0)', /^warning: the expirationTimestamp 1970-01-01T00:00:00.000Z has passed/],
      [`'2100-01-02T03:04:05+01:00'`, /^$/],
    ] as const) {
      const { exitCode, stderr } = await run(`() => ({ token: 't', expirationTimestamp: ${expiry} })`);
      assert.equal(exitCode, 0);
      assert.match(stderr, expected);
    }
  });

  const { certificate } = createCertificateAuthority('ca').issue({ commonName: 'me', client: true });
  const other = createCertificateAuthority('ca').issue({ commonName: 'me', client: true });
  for (const [what, status, expected] of [
    ['nothing', {}, /^the plugin answered with neither a token nor a client certificate and key$/],
    ['a line break in the token', { token: 'abc\n' }, /cannot be sent in a header: it holds a line break/],
    ['a token that is no text', { token: 7 }, /^the plugin's token must be text$/],
    [
      'a key of another certificate',
      { clientCertificateData: certificate, clientKeyData: other.key },
      /does not fit its certificate/,
    ],
  ] as const) {
    test(`fails where it got ${what}, as the client refuses it`, async () => {
      assert.throws(
        () => decodeExecCredential(JSON.stringify({ ...asked, status }), [v1]),
        (fault) => fault instanceof AnswerFault,
      );
      const { exitCode, stdout, stderr } = await run(`() => (${JSON.stringify(status)})`);
      assert.deepEqual([exitCode, stdout], [1, '']);
      assert.match(stderr, expected);
    });
  }
});

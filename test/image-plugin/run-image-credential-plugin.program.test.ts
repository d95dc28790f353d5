import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { v1 } from '../fixtures/image-plugins.ts';

const module = new URL('../../dist/image-plugin/index.js', import.meta.url).href;

describe('runImageCredentialPlugin', () => {
  function run(handler: string, input: string) {
    const program = `import { runImageCredentialPlugin } from '${module}'; await runImageCredentialPlugin(${handler});`;
    return execa(process.execPath, ['--input-type=module', '--eval', program], { input, reject: false });
  }
  const request = (more: object = {}) =>
    JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion: v1, image: 'gcr.io/a', ...more });

  test('answers in the version that it was asked in', async () => {
    const handler = `({ image }) => ({ auth: { [image]: { username: 'u', password: 'p' } }, cacheDurationMs: 90_000 })`;
    for (const apiVersion of [v1, `${v1}beta1`, `${v1}alpha1`]) {
      const { stdout, exitCode } = await run(handler, request({ apiVersion }));
      assert.equal(exitCode, 0);
      assert.deepEqual(JSON.parse(stdout), {
        kind: 'CredentialProviderResponse',
        apiVersion,
        cacheKeyType: 'Image',
        cacheDuration: '90s',
        auth: { 'gcr.io/a': { username: 'u', password: 'p' } },
      });
    }
  });

  test('hands over the token and the annotations of a service account', async () => {
    const handler = `({ serviceAccountToken, serviceAccountAnnotations }) => ({ auth: { a: { username: serviceAccountToken, password: serviceAccountAnnotations.role } } })`;
    const { stdout } = await run(
      handler,
      request({ serviceAccountToken: 't', serviceAccountAnnotations: { role: 'r' } }),
    );
    assert.deepEqual(JSON.parse(stdout).auth, { a: { username: 't', password: 'r' } });
  });

  test('tells a failure on stderr, in one line, and exits with 1', async () => {
    const failed = await run(`() => { throw new Error('no login') }`, request());
    assert.deepEqual([failed.exitCode, failed.stdout, failed.stderr], [1, '', 'no login']);
    const alone = await run('() => ({ auth: {} })', '');
    assert.match(alone.stderr, /stdin holds no CredentialProviderRequest: this program is an image credential plugin/);
    const wrong = await run('() => ({ auth: {} })', request({ image: '' }));
    assert.match(wrong.stderr, /stdin: image: must be the name of an image/);
  });

  test('tells nobody the token that it was given, wherever it stands', async () => {
    const token = 'a-token-of-no-known-shape';
    for (const handler of [
      `(asked) => { throw new Error('exchange failed: ' + asked.serviceAccountToken) }`,
      `(asked) => { throw new Error('failed', { cause: new Error('sent ' + asked.serviceAccountToken) }) }`,
      `(asked) => { console.log('sends ' + asked.serviceAccountToken); throw new Error('failed') }`,
    ]) {
      const { exitCode, stderr } = await run(handler, request({ serviceAccountToken: token }));
      assert.equal(exitCode, 1);
      assert.match(stderr, /failed/);
      assert.ok(!stderr.includes(token), stderr);
    }
  });

  test('prints nothing where the answer would be refused', async () => {
    const { exitCode, stdout, stderr } = await run("() => ({ auth: {}, cacheDuration: '10m' })", request());
    assert.deepEqual([exitCode, stdout], [1, '']);
    assert.match(
      stderr,
      /^the plugin's answer: cacheDuration: is not a known field \(did you mean cacheDurationMs\?\)$/,
    );
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { respond, startImageProviders, tokenAttributes } from '../fixtures/image-plugins.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('docker-credential-clusterprofile', () => {
  const helper = join(root, 'dist/image-credentials/docker-credential-clusterprofile.js');
  async function startHelper(
    t: TestContext,
    code: string,
    matchImages = ['gcr.io', '*.example.dev', 'docker.io', 'r.io:443'],
    more = {},
  ) {
    const { path, binDir } = await startImageProviders(t, [{ name: 'p', code, config: { matchImages, ...more } }]);
    const env = { IMAGE_CREDENTIAL_PROVIDER_CONFIG: path, IMAGE_CREDENTIAL_PROVIDER_BIN_DIR: binDir };
    return (verb: string[], input = '') => execa(process.execPath, [helper, ...verb], { env, input, reject: false });
  }
  const auth = {
    'gcr.io': { username: 'g', password: 'pw' },
    '*.example.dev': { username: 'e', password: 'pw2' },
    'https://index.docker.io/v1/': { username: 'hub', password: 'pw3' },
    'r.io:443': { username: 'r', password: 'pw4' },
  };

  test('get gives the credential of a registry, whatever it is called, also where its pattern names the usual port', async (t) => {
    const run = await startHelper(t, respond(auth));
    for (const [serverUrl, Username, Secret] of [
      ['HTTPS://GCR.io:443/v2/', 'g', 'pw'],
      ['https://index.docker.io/v1/', 'hub', 'pw3'],
      ['index.docker.io/library/nginx', 'hub', 'pw3'],
      ['r.io:443', 'r', 'pw4'],
    ]) {
      const { stdout, exitCode } = await run(['get'], `${serverUrl}\n`);
      assert.deepEqual([exitCode, JSON.parse(stdout)], [0, { ServerURL: serverUrl, Username, Secret }]);
    }
  });

  test('get and list say what Docker knows, and a failure of a plugin', async (t) => {
    const run = await startHelper(t, 'echo down >&2; exit 1');
    for (const [serverUrl, expected] of [
      ['https://index.docker.io/v1/access-token', /^credentials not found in native keychain$/],
      [' \n', /^no credentials server URL$/],
      ['https://me:s3/cret@gcr.io', /^image "https:\/\/\[redacted\]@gcr.io": is not the URL of a registry/],
      ['gcr.io', /^image credential provider p: .*failed with exit code 1/],
    ] as const) {
      const { stdout, exitCode } = await run(['get'], serverUrl);
      assert.equal(exitCode, 1);
      assert.match(stdout, expected);
    }
    const { stdout, stderr, exitCode } = await run(['list'], 'unused');
    assert.deepEqual([exitCode, stdout], [0, '{}']);
    assert.match(stderr, /failed with exit code 1/);
  });

  test('a provider that was not asked is named on stderr, with the reason, where nothing was found', async (t) => {
    const run = await startHelper(t, respond(auth), ['gcr.io'], { tokenAttributes });
    for (const [verb, expected] of [
      ['get', 'credentials not found in native keychain'],
      ['list', '{}'],
    ] as const) {
      const { stdout, stderr } = await run([verb], 'https://GCR.io');
      assert.equal(stdout, expected);
      assert.equal(
        stderr,
        'docker-credential-clusterprofile: image credential provider p was not asked: it has requireServiceAccount: true, and no serviceAccount was given',
      );
    }
  });

  test('list names the servers that get knows, without those that only a glob means', async (t) => {
    const patterns = [
      'gcr.io',
      '*.example.dev',
      'docker.io',
      'index.docker.io',
      'https://odd',
      'docker.io/team',
      'none',
    ];
    const run = await startHelper(t, respond(auth), patterns);
    const { stdout } = await run(['list']);
    const hub = 'https://index.docker.io/v1/';
    assert.deepEqual(JSON.parse(stdout), { 'gcr.io': 'g', [hub]: 'hub', 'docker.io/team': 'hub' });
  });

  test('store and erase are refused, version and --help answer, and anything else gets the usage', async (t) => {
    const run = await startHelper(t, respond(auth));
    for (const [args, expectedCode, expected] of [
      [['store'], 1, /^store: this helper is read-only; configure a plugin$/],
      [['erase'], 1, /^erase: this helper is read-only; configure a plugin$/],
      [['version'], 0, /^docker-credential-clusterprofile \(clusterprofile-credentials\) v\d+\.\d+\.\d+/],
      [['-h'], 0, /^Usage: docker-credential-clusterprofile <store\|get\|erase\|list\|version>/],
      [['get', 'gcr.io'], 1, /^Usage: /],
      [['Get'], 1, /^docker-credential-clusterprofile: unknown action: Get\nUsage: /],
    ] as const) {
      const { exitCode, stdout } = await run([...args], '{}');
      assert.equal(exitCode, expectedCode);
      assert.match(stdout, expected);
    }
    const unset = await execa(process.execPath, [helper, 'list'], { reject: false });
    assert.match(unset.stdout, /IMAGE_CREDENTIAL_PROVIDER_CONFIG and IMAGE_CREDENTIAL_PROVIDER_BIN_DIR have to be set/);
  });
});

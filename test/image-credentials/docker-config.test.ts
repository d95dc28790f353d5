// What Docker, crane and skopeo read; test/e2e asks Docker's and crane's own code for thousands of images.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { toAuths } from '../../src/image-credentials/docker-config.ts';
import type { ImageCredentialOptions } from '../../src/image-credentials/index.ts';
import { ImageCredential } from '../../src/image-credentials/keyring.ts';
import { respond, startImageProviders, tokenAttributes, user } from '../fixtures/image-plugins.ts';

const hub = 'https://index.docker.io/v1/';
const encode = (text: string) => ({ auth: Buffer.from(text).toString('base64') });

/** Images with the user and the pattern of their credentials. */
function authsOf(images: Readonly<Record<string, readonly (readonly [user: string, pattern: string])[]>>) {
  const logins = Object.entries(images).map(([image, credentials]) => ({
    image,
    credentials: credentials.map(([username, pattern]) => new ImageCredential('p', pattern, username, 'pw')),
  }));
  return toAuths(logins).auths;
}

describe('a Docker config', () => {
  test('has a login under its registry where all images have the same', () => {
    assert.deepEqual(
      authsOf({
        'r.io/a': [
          ['first', 'r.io'],
          ['second', '*.io'],
        ],
        'r.io/b': [['first', 'r.io']],
        'docker.io/library/nginx': [['hub', 'docker.io']],
        'q.io:5000/a': [],
      }),
      { 'r.io': encode('first:pw'), [hub]: encode('hub:pw') },
    );
  });

  test('has different ones under their repositories, those of Docker Hub under both of its names', () => {
    assert.deepEqual(authsOf({ 'docker.io/a/x': [['a', 'docker.io/a']], 'docker.io/b/x': [['b', 'docker.io/b']] }), {
      'docker.io/a/x': encode('a:pw'),
      'index.docker.io/a/x': encode('a:pw'),
      'docker.io/b/x': encode('b:pw'),
      'index.docker.io/b/x': encode('b:pw'),
      [hub]: {},
    });
  });

  test("has an entry for their registry too, lest Docker take any of them: the registry's own login, else none", () => {
    const both = { 'r.io/a': encode('a:pw'), 'r.io/b': encode('b:pw') };
    assert.deepEqual(authsOf({ 'r.io/a': [['a', 'r.io/a']], 'r.io/b': [['b', 'r.io/b']] }), { ...both, 'r.io': {} });
    assert.deepEqual(authsOf({ 'r.io/a': [['a', 'r.io/a']], 'r.io/b': [['b', '*.io']] }), {
      ...both,
      'r.io': encode('b:pw'),
    });
  });

  test('keeps an image without a login from those of others, where the tool lets it', () => {
    assert.deepEqual(authsOf({ 'r.io/a': [['a', 'r.io/a']], 'r.io/b': [['b', 'r.io']], 'r.io/c': [] }), {
      'r.io/a': encode('a:pw'),
      'r.io/b': encode('b:pw'),
      'r.io/c': {},
      'r.io': {},
    });
    // Docker knows registries only: it could not pull r.io/a otherwise.
    assert.deepEqual(authsOf({ 'r.io/a': [['a', 'r.io/a']], 'r.io/c': [] }), {
      'r.io/a': encode('a:pw'),
      'r.io/c': {},
      'r.io': encode('a:pw'),
    });
  });

  test('has user names that auth cannot hold in fields of their own, and no login that is empty', () => {
    const one = (username: string, password: string) =>
      toAuths([{ image: 'r.io/a', credentials: [new ImageCredential('p', 'r.io', username, password)] }]).auths;
    assert.deepEqual(one('', 'token'), { 'r.io': { username: '', password: 'token' } });
    assert.deepEqual(one('a:b', 'pw'), { 'r.io': { username: 'a:b', password: 'pw' } });
    assert.deepEqual(one('a', '\0pw'), { 'r.io': { username: 'a', password: '\0pw' } });
    assert.deepEqual(one('a', 'p:w\u00e4'), { 'r.io': encode('a:p:w\u00e4') });
    assert.deepEqual(one('', ''), {});
  });
});

test('toDockerConfig tells the failures of each image, and takes what getCredentials takes', async (t) => {
  const plugins = [
    { name: 'good', code: respond({ 'r.io': user('r') }) },
    { name: 'bad', code: 'exit 1', config: { matchImages: ['s.io'] } },
    { name: 'own', code: respond({ 'q.io': user('own') }), config: { tokenAttributes } },
  ];
  const options: ImageCredentialOptions = { mintToken: async ({ serviceAccount: { name } }) => `token of ${name}` };
  const { providers } = await startImageProviders(t, plugins, options);
  const images = ['r.io/a:1', 'r.io/a:2', 's.io/b', 'q.io/c'];
  const { config, failures, skipped } = await providers.toDockerConfig(images);
  assert.deepEqual(config, { auths: { 'r.io': encode('r:pw') } });
  assert.deepEqual(JSON.parse(JSON.stringify(config)), config);
  assert.equal(inspect(config), "{ auths: { 'r.io': '[redacted]' } }");
  const failed = failures.map(({ image, provider, error }) => `${image} ${provider} ${error.code}`);
  assert.deepEqual(failed, ['s.io/b bad PLUGIN_FAILED']);
  const left = skipped.map(({ image, provider }) => `${image} ${provider}`);
  assert.deepEqual(left, ['r.io/a own', 's.io/b own', 'q.io/c own']);
  const serviceAccount = { namespace: 'n', name: 'a', uid: 'u' };
  const own = await providers.toDockerConfig('q.io/c', { serviceAccount });
  assert.deepEqual([own.config, own.skipped], [{ auths: { 'q.io': encode('own:pw') } }, []]);
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(providers.toDockerConfig(images, { signal }), /enough/);
  await assert.rejects(providers.toDockerConfig(['r.io/a', 'bad host/b']), { code: 'IMAGE_INVALID' });
});

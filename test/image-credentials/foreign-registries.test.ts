// Whose password goes where: every way from an answer's key to a registry that is not its own.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ImageError } from '../../src/errors/index.ts';
import { toAuths } from '../../src/image-credentials/docker-config.ts';
import { combine, Keyring, registryPath, repositoryOf } from '../../src/image-credentials/keyring.ts';
import { respond, startImageProviders, user } from '../fixtures/image-plugins.ts';
import { fc } from '../fixtures/property.ts';

/** Each key's own user. */
const keyring = (keys: readonly string[]) => new Keyring('p', new Map(keys.map((key) => [key, user(key)])));

/** The users that an image or a registry gets; none where it is refused. */
function usersFor(read: (name: string) => string, name: string, keys: readonly string[]): readonly string[] {
  try {
    return combine(read(name), [keyring(keys)]).map(({ username }) => username);
  } catch (error) {
    assert.ok(error instanceof ImageError, String(error));
    return [];
  }
}

const hub = 'https://index.docker.io/v1/';
const keys = [
  hub,
  'docker.io',
  'docker.io/team',
  'r.example.dev',
  'r.example.dev:5000',
  'https://r.example.dev/v2/team',
  'localhost',
  'localhost:5000',
  '[::1]',
  '[::1]:5000',
  '[fd00::a]',
  '127.0.0.1',
] as const;

describe('the keys of an answer', () => {
  for (const [registry, expected] of [
    ['docker.io', ['docker.io']],
    ['index.docker.io', ['docker.io']],
    ['r.example.dev', ['r.example.dev']],
    ['r.example.dev/team', ['https://r.example.dev/v2/team', 'r.example.dev']],
    ['r.example.dev:5000', ['r.example.dev:5000']],
    ['localhost', ['localhost']],
    ['localhost:5000', ['localhost:5000']],
    ['[::1]', ['[::1]']],
    ['[::1]:5000', ['[::1]:5000']],
    ['127.0.0.1', ['127.0.0.1']],
  ] as const) {
    test(`serve ${registry}`, () => assert.deepEqual(usersFor(registryPath, registry, keys), expected));
  }

  for (const [why, ...registries] of [
    ['another host', 'evil.example.dev', 'evil', 'a', '1', 'f', ':', 'library', '10.0.0.1', 'r.example.devil'],
    ['a host around it', 'r.example.dev.evil.com', 'evil-r.example.dev', 'docker.io.evil.com', 'xdocker.io'],
    ['it as a path', 'evil.com/r.example.dev', 'evil.com/docker.io', 'evil.com/index.docker.io/v1', 'evil/docker.io'],
    ['it as a user', 'r.example.dev@evil.com', 'docker.io@evil.com', 'u:p@r.example.dev'],
    ['another port', 'r.example.dev:5001', 'r.example.dev:05000', 'docker.io:5000', 'localhost:5001', '[::1]:5001'],
    ['an empty port', 'r.example.dev:', 'docker.io:'],
    ['a final dot', 'r.example.dev.', 'docker.io.', 'localhost.'],
    ['other letters', 'R.example.dev', 'Docker.io', 'DOCKER.IO', 'Localhost'],
    ['another address', '[::2]', '[::1', '::1', '[0:0:0:0:0:0:0:1]', '127.1', '[fd00::b]', 'fd00::a'],
    ['a scheme', 'https://r.example.dev', 'http://docker.io', 'https://index.docker.io/v1/'],
    ['an escape', '%72.example.dev', 'r.example.dev%00', 'docker.io%2f', 'docker\u3002io'],
    ['a line break', 'r.example.dev\n', 'docker.io\r\nevil.com', 'docker.io\0'],
    ['what stands for every image', '<global>', '*', '*.example.dev', ''],
  ] as const) {
    test(`do not serve ${why}`, () => {
      for (const registry of registries) assert.deepEqual(usersFor(registryPath, registry, keys), [], registry);
    });
  }

  for (const [image, expected] of [
    ['nginx', ['docker.io']],
    ['team/app', ['docker.io/team', 'docker.io']],
    ['evil/docker.io/app', ['docker.io']],
    ['evil.example.dev/app', []],
    ['localhost/app', ['localhost']],
    ['localhost:5000/app', ['localhost:5000']],
    ['LOCALHOST/app', []],
    ['r.example.dev/team-two/app', ['https://r.example.dev/v2/team', 'r.example.dev']],
    ['r.example.dev:443/app', []],
  ] as const) {
    test(`serve the image ${image} with what is its registry's`, () =>
      assert.deepEqual(usersFor(repositoryOf, image, keys), expected));
  }

  test("H.68: serve Docker Hub with its own key where no other matches, and nobody else with Docker Hub's", () => {
    for (const image of ['nginx', 'me/app', 'index.docker.io/me/app', 'docker.io/library/nginx'])
      assert.deepEqual(usersFor(repositoryOf, image, [hub]), [hub], image);
    for (const image of ['localhost/app', 'evil.example.dev/app', 'docker.io:443/app', 'LOCAL/app', 'x.docker.io/app'])
      assert.deepEqual(usersFor(repositoryOf, image, [hub]), [], image);
    for (const registry of ['localhost', 'evil', 'evil.example.dev', 'registry-1.docker.io', 'index.docker.io:5000'])
      assert.deepEqual(usersFor(registryPath, registry, [hub]), [], registry);
  });

  const host = fc.oneof(
    fc.constantFrom('docker.io', 'index.docker.io', 'localhost', 'r.example.dev', 'a', '1', '[::1]', '[fd00::a]'),
    fc.stringMatching(/^[a-zA-Z0-9]{1,3}(\.[a-z0-9]{1,3}){0,2}$/),
  );
  const port = fc.constantFrom('', '', ':443', ':5000');
  const authority = fc.tuple(host, port).map((parts) => parts.join(''));
  const path = fc.constantFrom('', '/', '/v1/', '/v2/', '/team', '/v1/team');

  test('without a star serve their own host and port only, or Docker Hub by its other name', () => {
    const key = fc.tuple(fc.constantFrom('', 'https://', 'http://'), authority, path);
    fc.assert(
      fc.property(fc.array(key, { maxLength: 4 }), authority, path, (parts, registry, tail) => {
        const given = parts.map((part) => part.join(''));
        const users = usersFor(registryPath, `${registry}${tail}`, given);
        const own = registry === 'index.docker.io' ? 'docker.io' : registry;
        const allowed = own === 'docker.io' ? [own, 'index.docker.io'] : [own];
        for (const name of users) {
          const [, found = ''] = /^(?:https?:\/\/)?([^/]*)/.exec(name) ?? [];
          assert.ok(allowed.includes(found), `${name} for ${registry}`);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('become entries of a Docker config for the registries of the images only', () => {
    const images = ['nginx', 'r.example.dev/team/app', '[::1]:5000/app', 'evil.example.dev/app', 'localhost/app'];
    const { auths } = toAuths(
      images.map(repositoryOf).map((image) => ({ image, credentials: combine(image, [keyring(keys)]) })),
    );
    const ofAuth = (auth = '') => Buffer.from(auth, 'base64').toString().replace(/:pw$/, '');
    const named = Object.entries(auths).map(([name, { auth, username }]) => [name, username ?? ofAuth(auth)]);
    assert.deepEqual(named, [
      [hub, 'docker.io'],
      ['r.example.dev', 'https://r.example.dev/v2/team'],
      ['[::1]:5000', '[::1]:5000'],
      ['localhost', 'localhost'],
    ]);
  });
});

test('a registry that cannot be one is an error that says what to write', async (t) => {
  const { providers } = await startImageProviders(t, [{ name: 'p', code: respond({ '*': user('u') }) }]);
  for (const [registry, message] of [
    ['https://r.io', /"https:\/\/r\.io": has a scheme.*: write registry\.example\.dev/],
    ['bad host', /"bad host": is not a host with an optional port/],
    ['r.io/Team', /has a path that no repository has/],
    ['', /is not the name of a registry/],
    [undefined, /is not the name of a registry/],
  ] as const) {
    // @ts-expect-error undefined is no registry
    await assert.rejects(providers.getRegistryCredentials(registry), { name: 'ImageError', message });
  }
  const message = /is not the name of an image/;
  // @ts-expect-error no image
  await assert.rejects(providers.getCredentials(null), { code: 'IMAGE_INVALID', message });
  // Not in a time that grows with the square of its length.
  await assert.rejects(providers.getCredentials(':'.repeat(1_000_000)), { code: 'IMAGE_INVALID' });
});

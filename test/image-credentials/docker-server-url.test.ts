import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ImageError } from '../../src/errors/index.ts';
import { registriesOfServer, serverUrlOf } from '../../src/image-credentials/docker-config.ts';
import { thrownBy } from '../fixtures/thrown.ts';

describe('a server URL of Docker', () => {
  for (const [serverUrl, expected] of [
    ['r.io', 'r.io'],
    ['https://r.io/', 'r.io'],
    ['HTTPS://R.io/v2/', 'r.io'],
    ['https://r.io:80', 'r.io:80'],
    ['http://r.io:443', 'r.io:443'],
    ['[FD00::443]', '[fd00::443]'],
    ['https://[::1]:443', '[::1]'],
    ['r.io/team/app', 'r.io/team/app'],
    ['r.io/v2/app', 'r.io/v2/app'],
    ['r.io/v2', 'r.io/v2'],
    ['r.io/v2/', 'r.io'],
    ['https://r.io/v2/team', 'r.io/team'],
    ['https://index.docker.io/v1/', 'docker.io'],
    ['https://index.docker.io/v1', 'docker.io'],
    ['index.docker.io', 'docker.io'],
    ['https://registry-1.docker.io/v2/', 'docker.io'],
    ['index.docker.io/library/nginx', 'docker.io/library/nginx'],
    ['https://registry-1.docker.io/v2/team', 'docker.io/team'],
    ['docker.io:5000', 'docker.io:5000'],
    ['https://docker.io.evil.com', 'docker.io.evil.com'],
    // Docker's own tokens.
    ['https://index.docker.io/v1/access-token', undefined],
  ] as const) {
    test(`${serverUrl} means ${expected ?? 'no registry'}`, () =>
      assert.equal(registriesOfServer(serverUrl)[0], expected));
  }

  test('with the usual port may mean an image that names it', () => {
    assert.deepEqual(registriesOfServer('r.io:443'), ['r.io', 'r.io:443']);
    assert.deepEqual(registriesOfServer('https://r.io:443/v2/'), ['r.io', 'r.io:443']);
    assert.deepEqual(registriesOfServer('http://r.io:80'), ['r.io', 'r.io:80']);
    assert.deepEqual(registriesOfServer('r.io:5000'), ['r.io:5000']);
    assert.deepEqual(registriesOfServer('https://registry-1.docker.io:443'), ['docker.io']);
  });

  for (const serverUrl of [
    'ftp://r.io',
    'https://',
    'https://u:p@r.io',
    'https://docker.io@evil.com',
    'https://me:s3/cret@r.io',
    'me:s3cret@r.io',
    'https://r.io?a=b',
    'https://r.io/v2/#x',
    'https://r.io:99x',
    'r.io.',
    'bad host',
    'r.io\nevil.com',
    '//r.io',
    'https://https://r.io',
    'https://docker.io/Team',
  ]) {
    test(`${JSON.stringify(serverUrl)} is refused as it was given, but for a user`, () => {
      const { message } = thrownBy(ImageError, () => registriesOfServer(serverUrl));
      const shown = serverUrl.replace('\n', '\\u000a').replace(/^(\w+:\/\/)?.*@/, '$1[redacted]@');
      assert.ok(message.includes(`"${shown}"`), message);
    });
  }

  test('is what tools know a registry by', () => {
    for (const [registry, expected] of [
      ['docker.io', 'https://index.docker.io/v1/'],
      ['index.docker.io', 'https://index.docker.io/v1/'],
      ['docker.io/team', 'docker.io/team'],
      ['r.io:5000', 'r.io:5000'],
    ] as const) {
      assert.equal(serverUrlOf(registry), expected);
    }
    assert.throws(() => serverUrlOf('*.io'), ImageError);
  });
});

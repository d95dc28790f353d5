import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { respond, startImageProviders, user } from '../fixtures/image-plugins.ts';

describe('several providers (H)', () => {
  test('H.66, H.67: patterns in descending order, and for one pattern the earlier provider first', async (t) => {
    const first = { '*.io': user('1'), 'gcr.io': user('2'), 'gcr.io/a': user('3'), 'other.io': user('x') };
    const second = { 'gcr.io/a/b': user('4'), 'gcr.io': user('5'), 'g*.io': user('6') };
    const { users } = await startImageProviders(t, [
      { name: 'p', code: respond(first) },
      { name: 'q', code: respond(second) },
    ]);
    assert.deepEqual(await users('gcr.io/a/b'), ['q 4', 'p 3', 'p 2', 'q 5', 'q 6', 'p 1']);
  });

  test('H.65: keys lose scheme and API version; what is no URL is passed over', async (t) => {
    const auth = {
      'https://gcr.io/v1/a': user('1'),
      'http://gcr.io/v2/': user('2'),
      'Https://gcr.io': user('x'),
      'g cr.io': user('x'),
    };
    const { providers } = await startImageProviders(t, [{ name: 'p', code: respond(auth) }]);
    const { credentials } = await providers.getCredentials('gcr.io/a');
    const found = credentials.map(({ pattern, username }) => `${pattern} ${username}`);
    assert.deepEqual(found, ['gcr.io/a 1', 'gcr.io 2']);
  });

  test('H.65: a key that is no URL is warned about, once, without the key, and the others serve', async (t) => {
    const said: string[] = [];
    const logger = { warn: (_fields: object, message: string) => said.push(message) };
    const auth = { 'gcr.io': user('1'), 'gcr.io:port': user('x'), 'https://gcr.io:https': user('x') };
    const { users } = await startImageProviders(t, [{ name: 'p', code: respond(auth, { cacheDuration: '0s' }) }], {
      logger,
    });
    for (let round = 0; round < 3; round++) assert.deepEqual(await users('gcr.io/a'), ['p 1']);
    assert.deepEqual(said, [
      'image credential provider p: image gcr.io/a: answered with a login that is for no image, because its key has a port that is not a number',
    ]);
  });

  test('a credential prints without its password, and a failure without what the plugin printed and was configured with', async (t) => {
    const secret = 'SECRET-5d1f';
    const env = [{ name: 'REGISTRY_PASSWORD', value: `${secret}-of-env` }];
    const config = { args: [`--password=${secret}-of-args`], env };
    const said: string[] = [];
    const logger = { warn: (fields: object, message: string) => said.push(JSON.stringify(fields), message) };
    const { providers } = await startImageProviders(
      t,
      [
        { name: 'p', code: respond({ '*.io': user('u', secret) }) },
        { name: 'q', code: `${respond({ '*.io': user('u', secret) }, { extra: secret })}\necho ${secret} >&2` },
        { name: 'r', code: 'echo "refused: $REGISTRY_PASSWORD $1" >&2; exit 1', config },
      ],
      { logger },
    );
    const result = await providers.getCredentials('gcr.io/a');
    assert.equal(result.credentials[0]?.password, secret);
    assert.equal(result.failures.length, 2);
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

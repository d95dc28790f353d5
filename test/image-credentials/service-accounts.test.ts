import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { ServiceAccount, TokenRequest } from '../../src/image-credentials/index.ts';
import { anyIo, respond, startImageProvider, tokenAttributes, user, v1 } from '../fixtures/image-plugins.ts';

describe('service accounts (G)', () => {
  const annotations = { role: 'r', team: '', other: 'x' };
  const account: ServiceAccount = { namespace: 'ns', name: 'sa', uid: 'uid-1', annotations };
  const attributes = (more: object = {}) => ({
    tokenAttributes: {
      ...tokenAttributes,
      requiredServiceAccountAnnotationKeys: ['role'],
      optionalServiceAccountAnnotationKeys: ['team', 'none'],
      ...more,
    },
  });
  const minting = () => {
    const asked: TokenRequest[] = [];
    const mintToken = async (request: TokenRequest) => {
      asked.push(request);
      return 'token-1';
    };
    return { asked, mintToken };
  };

  test('G.59, G.60: the plugin gets a token for the audience, and the annotations that are asked for, sorted', async (t) => {
    const { asked, mintToken } = minting();
    const { providers, input } = await startImageProvider(t, { config: attributes() }, { mintToken });
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

  test('G.59: without an account, or without a required annotation, nothing is run and nothing fails, and the result says so', async (t) => {
    const { asked, mintToken } = minting();
    const { providers, runs } = await startImageProvider(t, { config: attributes() }, { mintToken });
    for (const [serviceAccount, reason] of [
      [undefined, 'it has requireServiceAccount: true, and no serviceAccount was given'],
      [{ ...account, annotations: { team: 'x' } }, 'service account ns/sa has no annotation role, which it requires'],
    ] as const) {
      const { credentials, failures, skipped } = await providers.getCredentials('gcr.io/a', { serviceAccount });
      assert.deepEqual([credentials, failures], [[], []]);
      assert.deepEqual(skipped, [{ image: 'gcr.io/a', provider: 'p', reason }]);
    }
    assert.equal(await runs('p'), 0);
    assert.deepEqual(asked, []);
  });

  test('G.59: with requireServiceAccount false and no account the plugin is run without a token', async (t) => {
    const config = attributes({ requireServiceAccount: false, requiredServiceAccountAnnotationKeys: [] });
    const { mintToken } = minting();
    const { users, input } = await startImageProvider(t, { config }, { mintToken });
    assert.deepEqual(await users('gcr.io/a'), ['p u']);
    assert.deepEqual(await input('p'), { kind: 'CredentialProviderRequest', apiVersion: v1, image: 'gcr.io/a' });
  });

  for (const [cacheType, expected] of [
    ['ServiceAccount', [1, 1, 2, 3]],
    ['Token', [1, 2, 3, 4]],
  ] as const) {
    test(`G.62: what is cached with ${cacheType} is kept for the account, its annotations${cacheType === 'Token' ? ' and the token' : ''}`, async (t) => {
      let token = 'token-1';
      const mintToken = async () => token;
      const plugin = { code: respond(anyIo, { cacheKeyType: 'Global' }), config: attributes({ cacheType }) };
      const { providers, runs } = await startImageProvider(t, plugin, { mintToken });
      const counts: number[] = [];
      const pull = async (serviceAccount: ServiceAccount) => {
        await providers.getCredentials('gcr.io/a', { serviceAccount });
        counts.push(await runs('p'));
      };
      await pull(account);
      token = 'token-2';
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
    const { providers } = await startImageProvider(t, { config: attributes() }, { mintToken });
    assert.equal((await providers.getCredentials('gcr.io/a', { serviceAccount: account })).credentials.length, 1);
    fail = true;
    const { credentials, failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
    assert.deepEqual(credentials, []);
    assert.equal(failures[0]?.error.code, 'SERVICE_ACCOUNT_FAILED');
    assert.doesNotMatch(inspect(failures), /SECRET/);
  });

  test('G.59: without the option mintToken that is what the error says', async (t) => {
    const { providers } = await startImageProvider(t, { config: attributes() });
    const { failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
    assert.match(failures[0]?.error.message ?? '', /tokenAttributes need the option mintToken/);
  });

  test('a token that the plugin writes to stderr is not shown', async (t) => {
    const code = `sed 's/.*"serviceAccountToken":"\\([^"]*\\)".*/refused: \\1/' "$DIR/input" >&2; exit 1`;
    const plugin = { code, config: attributes() };
    const { providers } = await startImageProvider(t, plugin, { mintToken: async () => 'SECRET-5d1f' });
    const { failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
    assert.match(failures[0]?.error.message ?? '', /refused: \[redacted\]/);
    assert.doesNotMatch(inspect(failures), /SECRET/);
  });

  for (const [cacheType, expected] of [
    ['ServiceAccount', 'ANSWER_TOKEN_ECHOED'],
    ['Token', undefined],
  ] as const) {
    test(`G.61: the token as a password is ${expected ? 'refused' : 'taken'} with ${cacheType}`, async (t) => {
      const plugin = { code: respond({ '*.io': user('u', 'token-1') }), config: attributes({ cacheType }) };
      const { providers } = await startImageProvider(t, plugin, { mintToken: minting().mintToken });
      const { failures } = await providers.getCredentials('gcr.io/a', { serviceAccount: account });
      assert.equal(failures[0]?.error.code, expected);
    });
  }
});

// Tokens of service accounts: how often they are minted, how long that may take, what becomes of what is none.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { PluginError } from '../../src/errors/index.ts';
import type { ImageCredentialOptions, MintToken, ServiceAccount } from '../../src/image-credentials/index.ts';
import {
  anyIo,
  type ImagePluginSettings,
  respond,
  startImageProviders,
  tokenAttributes,
} from '../fixtures/image-plugins.ts';

const account: ServiceAccount = { namespace: 'ns', name: 'sa', uid: 'uid-1' };
const withTokens = (cacheType: 'ServiceAccount' | 'Token' = 'ServiceAccount', audience = 'registry') => ({
  tokenAttributes: { ...tokenAttributes, serviceAccountTokenAudience: audience, cacheType },
});
const uncached = respond(anyIo, { cacheDuration: '0s' });

/** Mints `token-1`, `token-2` and so on. */
function minter(expiresAt?: () => number) {
  const asked: Parameters<MintToken>[] = [];
  const mintToken: MintToken = async (...given) => {
    asked.push(given);
    const token = `token-${asked.length}`;
    return expiresAt ? { token, expirationTimestamp: new Date(expiresAt()).toISOString() } : token;
  };
  return { asked, mintToken };
}

async function start(t: TestContext, plugins: readonly ImagePluginSettings[], options: ImageCredentialOptions) {
  const started = await startImageProviders(t, plugins, options);
  const pull = (image = 'gcr.io/a', serviceAccount = account) =>
    started.providers.getCredentials(image, { serviceAccount });
  return { ...started, pull };
}

describe('a token', () => {
  test('is kept for its account and audience until a fifth of its life is left', async (t) => {
    const clock = { now: 1_000_000 };
    const { asked, mintToken } = minter(() => clock.now + 600_000);
    const plugins = [
      { name: 'p', code: uncached, config: withTokens() },
      { name: 'q', code: uncached, config: withTokens('Token') },
      { name: 'r', code: uncached, config: withTokens('ServiceAccount', 'other') },
    ];
    const { pull, runs, input } = await start(t, plugins, { mintToken, clock: () => clock.now });
    await pull();
    const audiences = asked.map(([{ audience }]) => audience);
    assert.deepEqual(audiences, ['registry', 'other']);
    clock.now += 479_999;
    await pull('quay.io/b');
    assert.equal(asked.length, 2);
    await pull('gcr.io/a', { ...account, uid: 'uid-2' });
    assert.equal(asked.length, 4);
    clock.now += 2;
    await pull();
    assert.equal(asked.length, 6);
    assert.equal(Reflect.get(Object(await input('p')), 'serviceAccountToken'), 'token-5');
    assert.equal(await runs('p'), 4);
    clock.now -= 3_600_000;
    await pull();
    assert.equal(asked.length, 8, 'a clock that was set back does not keep it longer');
  });

  test('may come with a Date, as client-node has it, or without its end: then it is used once', async (t) => {
    for (const [expirationTimestamp, expected] of [
      [new Date(Date.now() + 600_000), 1],
      [undefined, 3],
      [new Date(Date.now() - 1), 3],
    ] as const) {
      let minted = 0;
      const mintToken: MintToken = async () => {
        minted += 1;
        return { token: `token-${minted}`, expirationTimestamp };
      };
      const { pull } = await start(t, [{ name: 'p', code: uncached, config: withTokens() }], { mintToken });
      for (let i = 0; i < 3; i++) assert.deepEqual((await pull()).failures, []);
      assert.equal(minted, expected);
    }
  });

  for (const cacheType of ['ServiceAccount', 'Token'] as const) {
    test(`that is minted anew each time lets ten pulls at once share one run, with ${cacheType}`, async (t) => {
      const { asked, mintToken } = minter();
      const plugin = { name: 'p', code: `sleep 0.2\n${respond(anyIo)}`, config: withTokens(cacheType) };
      const { pull, runs } = await start(t, [plugin], { mintToken });
      const pulls = Array.from({ length: 10 }, async () => (await pull()).credentials.length);
      assert.deepEqual(await Promise.all(pulls), Array(10).fill(1));
      assert.deepEqual([asked.length, await runs('p')], [1, 1]);
    });

    test(`that is minted anew each time does not run a failing plugin at every pull, with ${cacheType}`, async (t) => {
      const { mintToken } = minter();
      const plugin = { name: 'p', code: 'exit 1', config: withTokens(cacheType) };
      const { pull, runs } = await start(t, [plugin], { mintToken, clock: () => 1_000 });
      for (let i = 0; i < 10; i++) assert.equal((await pull()).failures[0]?.error.code, 'PLUGIN_FAILED');
      assert.equal(await runs('p'), 1);
      await pull('gcr.io/a', { ...account, uid: 'uid-2' });
      assert.equal(await runs('p'), 2, 'another account is not held back');
    });
  }
});

describe('mintToken', () => {
  const both = [
    { name: 'p', code: respond(anyIo), config: withTokens() },
    { name: 'q', code: respond(anyIo) },
  ];
  /** The failure of p, beside which q has to give what it has. */
  async function failureOf(pulled: ReturnType<Awaited<ReturnType<typeof start>>['pull']>): Promise<PluginError> {
    const { credentials, failures } = await pulled;
    assert.deepEqual([credentials.length, credentials[0]?.provider], [1, 'q']);
    const [failure] = failures;
    assert.ok(failure && failures.length === 1 && failure.provider === 'p' && failure.error instanceof PluginError);
    return failure.error;
  }

  for (const [what, mintToken] of [
    ['a number', async () => 42],
    ['an empty text', async () => ''],
    ['no promise', () => null],
    ['an object without a token', async () => ({ expirationTimestamp: new Date() })],
    ['an expiry that is no time', async () => ({ token: 't', expirationTimestamp: 'SECRET-tomorrow' })],
    ['an invalid Date', async () => ({ token: 't', expirationTimestamp: new Date(Number.NaN) })],
  ] as const) {
    test(`that gives ${what} is a failure of its provider, not of all`, async (t) => {
      // @ts-expect-error what no type allows
      const { pull } = await start(t, both, { mintToken });
      const error = await failureOf(pull());
      assert.equal(error.code, 'SERVICE_ACCOUNT_FAILED');
      assert.match(error.message, /mintToken gave no \{ token, expirationTimestamp \} for ns\/sa/);
      assert.doesNotMatch(inspect(error), /SECRET/);
    });
  }

  const withCode = (code: string) => Object.assign(new Error('SECRET'), { code });
  for (const [thrown, message] of [
    [{ code: 403, body: 'SECRET' }, /API server answered 403, RBAC must allow "create" on serviceaccounts\/token$/],
    [{ code: 404 }, /answered 404, the service account does not exist$/],
    [{ code: 409 }, /answered 409, the service account has another uid by now$/],
    [{ code: 500 }, /answered 500$/],
    [withCode('ECONNREFUSED'), /could be minted \(ECONNREFUSED\)$/],
    [withCode('SECRET, a token'), /could be minted$/],
    [new TypeError('SECRET', { cause: withCode('ENOTFOUND') }), /could be minted \(ENOTFOUND\)$/],
  ] as const) {
    test(`that fails with ${inspect(thrown).split('\n', 1)[0]}, at once or later, says what may be said of it`, async (t) => {
      const throwing = () => {
        throw thrown;
      };
      for (const mintToken of [throwing, async () => throwing()]) {
        const { pull } = await start(t, both, { mintToken });
        const error = await failureOf(pull());
        assert.match(error.message, message);
        assert.doesNotMatch(inspect(error), /SECRET/);
      }
    });
  }

  test('that fails is not called at every pull', async (t) => {
    const clock = { now: 1_000_000 };
    let calls = 0;
    const mintToken = async () => {
      calls += 1;
      throw new Error('down');
    };
    const { pull } = await start(t, both, { mintToken, clock: () => clock.now });
    const errors = await Promise.all(Array.from({ length: 5 }, () => failureOf(pull())));
    for (let i = 0; i < 5; i++) errors.push(await failureOf(pull()));
    assert.equal(calls, 1);
    assert.ok((errors.at(-1)?.retryAfterMs ?? 0) > 0);
    clock.now += 1_001;
    await failureOf(pull());
    assert.equal(calls, 2);
  });

  test('that never ends is left after pluginTimeoutMs, and is reported', async (t) => {
    let told: unknown;
    const mintToken: MintToken = (_request, { signal }) => {
      signal.addEventListener('abort', () => {
        told = signal.reason;
      });
      return new Promise(() => {});
    };
    const { pull } = await start(t, both.slice(0, 1), { mintToken, pluginTimeoutMs: 100 });
    const [failure] = (await pull()).failures;
    assert.equal(failure?.error.code, 'SERVICE_ACCOUNT_FAILED');
    assert.match(failure?.error.message ?? '', /no token for ns\/sa was minted within 100 ms/);
    assert.ok(told instanceof Error);
  });

  test('that has not ended is left at close(), and is told', async (t) => {
    const told: AbortSignal[] = [];
    const mintToken: MintToken = (_request, { signal }) => {
      told.push(signal);
      return new Promise(() => {});
    };
    const { providers, pull } = await start(t, both.slice(0, 1), { mintToken });
    const pulled = pull();
    while (told.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await providers.close();
    assert.equal((await pulled).failures[0]?.error.code, 'PLUGIN_STOPPED');
    assert.equal(told[0]?.aborted, true);
  });
});

describe('a service account', () => {
  const V1ServiceAccount = { kind: 'ServiceAccount', metadata: { ...account, annotations: {} } };
  for (const [what, given, message] of [
    [
      "as client-node's V1ServiceAccount",
      V1ServiceAccount,
      /serviceAccount\.namespace: must be text: of a V1ServiceAccount give \{ namespace, name, uid, annotations \} of its metadata/,
    ],
    ['without a uid', { namespace: 'ns', name: 'sa' }, /serviceAccount\.uid: must be text/],
    ['with an empty name', { ...account, name: '' }, /serviceAccount\.name: must not be empty/],
    ['with a number for an annotation', { ...account, annotations: { a: 1 } }, /serviceAccount\.annotations\.a: must/],
    ['that is a text', 'ns/sa', /serviceAccount: must be an object with namespace, name and uid/],
    ['that is null', null, /serviceAccount: must be an object/],
  ] as const) {
    test(`${what} is refused`, async (t) => {
      const plugin = { name: 'p', code: respond(anyIo), config: withTokens() };
      const { providers, runs } = await start(t, [plugin], { mintToken: minter().mintToken });
      // @ts-expect-error what no type allows
      const refused = providers.getCredentials('gcr.io/a', { serviceAccount: given });
      await assert.rejects(refused, { code: 'OPTION_INVALID', message });
      assert.equal(await runs('p'), 0);
    });
  }

  test('may be the metadata of client-node, undefined annotations and all', async (t) => {
    const plugin = { name: 'p', code: respond(anyIo), config: withTokens() };
    const { asked, mintToken } = minter();
    const { providers } = await start(t, [plugin], { mintToken });
    const metadata = { namespace: 'ns', name: 'sa', uid: 'u', annotations: undefined, labels: { a: 'b' } };
    assert.deepEqual((await providers.getCredentials('gcr.io/a', { serviceAccount: metadata })).failures, []);
    assert.deepEqual(asked[0]?.[0].serviceAccount, { namespace: 'ns', name: 'sa', uid: 'u', annotations: undefined });
  });
});

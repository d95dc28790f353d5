// client-go's exec authenticator, item by item (see input.test.ts). G: what is taken as an answer.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { failure, setUp, v1 } from '../fixtures/client-go.ts';
import { print } from '../fixtures/script.ts';

describe('G. Decoding stdout', () => {
  const text = (answer: string) => `cat <<'ANSWER'\n${answer}\nANSWER`;
  const pair = createCertificateAuthority().issue({ commonName: 'c', client: true });
  const other = createCertificateAuthority().issue({ commonName: 'o', client: true });
  const both = { clientCertificateData: pair.certificate, clientKeyData: pair.key };

  for (const [item, code] of [
    ['G.62: YAML, its first document', text(`apiVersion: ${v1}\nstatus: {token: token-1}\n---\nother: document`)],
    ['G.62: JSON after a byte order mark', text(`\uFEFF {"apiVersion":"${v1}","status":{"token":"token-1"}}`)],
    ['G.63: unknown fields', print({ token: 'token-1', other: 1 }, { more: [] })],
    ['G.63: a key twice, the last counting', text(`{"apiVersion":"${v1}","status":{"token":"x","token":"token-1"}}`)],
    [
      'G.63: a field twice, the last counting (differs: merged there)',
      text(`{"apiVersion":"${v1}","status":{"clientKeyData":"x"},"status":{"token":"token-1"}}`),
    ],
    [
      'G.62: a YAML version (differs: 1.1 alone is taken there)',
      text(`%YAML 1.2\n---\napiVersion: ${v1}\nstatus: {token: token-1}`),
    ],
    ['G.63: a key twice in YAML', text(`apiVersion: ${v1}\nstatus: {token: x, token: token-1}`)],
    ['G.64: null for text, which is empty', print({ token: 'token-1', clientKeyData: null })],
    ['G.65: no kind', text(`{"apiVersion":"${v1}","status":{"token":"token-1"}}`)],
    ['G.66: a spec, which is passed over', print({ token: 'token-1' }, { spec: { interactive: true } })],
    ['G.64: a spec that is text (differs: refused there)', print({ token: 'token-1' }, { spec: 'x' })],
    [
      'G.69: a chain, other text and line ends of Windows',
      print({
        token: 'token-1',
        ...both,
        clientCertificateData: `x\n${pair.certificate}${other.certificate}`.replaceAll('\n', '\r\n'),
      }),
    ],
  ] as const) {
    test(`${item}: is taken`, async (t) => {
      await (await setUp(t, { code })).core.listNamespace();
    });
  }

  for (const [item, code, expected] of [
    ['G.62: JSON with text behind it', text(`{"apiVersion":"${v1}","status":{"token":"t"}} more`), 'ANSWER_UNPARSABLE'],
    ['G.62: a log line first', text(`logging in\n{"apiVersion":"${v1}"}`), 'ANSWER_UNPARSABLE'],
    [
      'G.63: the type in other letters (differs: taken there)',
      text(`{"APIVERSION":"${v1}","Kind":"ExecCredential","status":{"token":"t"}}`),
      'ANSWER_WRONG_VERSION',
    ],
    ['G.63: fields in other letters', text(`{"apiVersion":"${v1}","Status":{"token":"t"}}`), 'ANSWER_NO_CREDENTIAL'],
    ['G.64: a token that is a number', print({ token: 1 }), 'ANSWER_FIELD_INVALID'],
    ['G.64: a status that is a list', print([]), 'ANSWER_FIELD_INVALID'],
    [
      'G.64: !!binary (differs: decoded there)',
      text(`apiVersion: ${v1}\nstatus: {token: !!binary aGk=}`),
      'ANSWER_FIELD_INVALID',
    ],
    ['G.65: nothing', '', 'ANSWER_EMPTY'],
    ['G.65: an empty object', text('{}'), 'ANSWER_WRONG_VERSION'],
    ['G.65: null', text('null'), 'ANSWER_UNPARSABLE'],
    ['G.65: no version', text('{"kind":"ExecCredential","status":{"token":"t"}}'), 'ANSWER_WRONG_VERSION'],
    ['G.65: another version', print({ token: 't' }, { apiVersion: `${v1}beta1` }), 'ANSWER_WRONG_VERSION'],
    ['G.65: another kind', print({ token: 't' }, { kind: 'Status' }), 'ANSWER_UNPARSABLE'],
    ['G.67: no status', print(undefined), 'ANSWER_NO_CREDENTIAL'],
    ['G.67: an expiry alone', print({ expirationTimestamp: '2030-01-01T00:00:00Z' }), 'ANSWER_NO_CREDENTIAL'],
    ['G.67: a token with half a pair', print({ token: 't', clientKeyData: pair.key }), 'ANSWER_HALF_PAIR'],
    [
      'G.68: a token with a line break (differs: taken there, and every request fails)',
      print({ token: 'a\nb' }),
      'ANSWER_FIELD_INVALID',
    ],
    ['G.69: a key that does not fit', print({ ...both, clientKeyData: other.key }), 'ANSWER_KEY_MISMATCH'],
    [
      'G.69: a pair the wrong way round',
      print({ clientCertificateData: pair.key, clientKeyData: pair.certificate }),
      'ANSWER_FIELD_INVALID',
    ],
    [
      'G.70: an expiry without a zone',
      print({ token: 't', expirationTimestamp: '2030-01-01T00:00:00' }),
      'ANSWER_FIELD_INVALID',
    ],
  ] as const) {
    test(`${item}: is refused`, async (t) => {
      assert.equal((await failure(t, { code })).code, expected);
    });
  }

  test('G.68: a token is used verbatim, spaces and all', async (t) => {
    const { server, core } = await setUp(t, { code: print({ token: 'a  b ~' }) });
    server.setTokens({ 'a  b ~': 'me' });
    await core.listNamespace();
  });

  test('G.71: the zero time means never, in any zone', async (t) => {
    const expirationTimestamp = '0001-01-01T01:00:00+01:00';
    const { plugin, core } = await setUp(t, { code: print({ token: 'token-1', expirationTimestamp }) });
    for (let i = 0; i < 3; i++) await core.listNamespace();
    assert.equal(await plugin.runs(), 1);
  });
});

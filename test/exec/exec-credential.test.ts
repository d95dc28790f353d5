import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { PluginErrorCode } from '../../src/errors/index.ts';
import { AnswerFault, type Credential, parseRfc3339 } from '../../src/exec/credential.ts';
import { decodeExecCredential, encodeExecCredential, toExecCluster } from '../../src/exec/exec-credential.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { thrownBy } from '../fixtures/thrown.ts';

const v1 = 'client.authentication.k8s.io/v1';
const secret = 'SECRET-3f9a';
const keyPair = createCertificateAuthority().issue({ commonName: 'client', client: true });
const pair = { clientCertificateData: keyPair.certificate, clientKeyData: keyPair.key };

function decode(answer: unknown): Credential {
  return decodeExecCredential(typeof answer === 'string' ? answer : JSON.stringify(answer), [v1]);
}

function answer(status: unknown, more: object = {}): object {
  return { kind: 'ExecCredential', apiVersion: v1, status, ...more };
}

function refused(given: unknown, code: PluginErrorCode): void {
  const fault = thrownBy(AnswerFault, () => decode(given));
  assert.equal(fault.code, code, fault.reason);
  assert.ok(!fault.reason.includes(secret), fault.reason);
}

describe('what a plugin is told', () => {
  const cluster = { server: 'https://h', insecureSkipTlsVerify: false, disableCompression: false };

  test('has spec.interactive always, and no cluster unless there is one', () => {
    const told = `{"kind":"ExecCredential","apiVersion":"${v1}","spec":{"interactive":false}}`;
    assert.equal(encodeExecCredential(v1, { interactive: false }), told);
  });

  test('names server and config always, config as null when there is none, and leaves absent fields out', () => {
    assert.deepEqual(toExecCluster(cluster, undefined), { server: 'https://h', config: null });
    const switches = { insecureSkipTlsVerify: true, disableCompression: true };
    const names = { tlsServerName: 'n', certificateAuthorityData: 'Y2E=', proxyUrl: 'http://p' };
    const full = { ...cluster, ...switches, ...names };
    assert.deepEqual(toExecCluster(full, { a: 1 }), {
      server: 'https://h',
      'tls-server-name': 'n',
      'insecure-skip-tls-verify': true,
      'certificate-authority-data': 'Y2E=',
      'proxy-url': 'http://p',
      'disable-compression': true,
      config: { a: 1 },
    });
  });
});

describe('what a plugin answers', () => {
  test('is read from JSON of 1 MiB, and from as much YAML as can be read at once', () => {
    const token = 'x'.repeat(900_000);
    assert.equal(decode(answer({ token })).authorization, `Bearer ${token}`);
    const yaml = (rest: string) => `apiVersion: ${v1}\nkind: ExecCredential\nstatus:\n  token: t\n${rest}`;
    const block = (text: string) => text.trim().replace(/^/gm, '    ');
    const chain = keyPair.certificate.repeat(20);
    const blocks = `  clientCertificateData: |\n${block(chain)}\n  clientKeyData: |\n${block(keyPair.key)}\n`;
    assert.equal(decode(yaml(blocks)).keyPair?.certificate, chain);
    assert.equal(decode(yaml(`x: ${'x'.repeat(100_000)}`)).authorization, 'Bearer t');
    assert.throws(() => decode(yaml(`x: ${'x'.repeat(200_000)}`)), { code: 'ANSWER_TOO_LARGE' });
  });

  test('may be YAML, may have a byte order mark, spaces around it and unknown fields, and may lack kind', () => {
    assert.equal(decode(`apiVersion: ${v1}\nkind: ExecCredential\nstatus:\n  token: t\n`).authorization, 'Bearer t');
    const odd = JSON.stringify(answer({ token: 't', other: 1 }, { more: 1 }));
    assert.equal(decode(`\uFEFF \n${odd}\n\n`).authorization, 'Bearer t');
    assert.equal(decode({ apiVersion: v1, status: { token: 't' } }).authorization, 'Bearer t');
    const twice = `{"apiVersion":"${v1}","status":{"clientKeyData":"x"},"status":{"token":"x","token":"t"}}`;
    assert.equal(decode(twice).authorization, 'Bearer t', 'of what stands twice the last counts');
    assert.equal(decode(`apiVersion: ${v1}\nstatus: {token: t}\n---\nsecond: document`).authorization, 'Bearer t');
  });

  test('is YAML as Kubernetes reads it where it does not begin with a brace', () => {
    const yaml = (rest: string) => `apiVersion: ${v1}\n${rest}`;
    assert.equal(decode(yaml('base: &base {token: t}\nstatus:\n  <<: *base')).authorization, 'Bearer t');
    for (const token of ['yes', 'n', '017', '1_000', '.inf']) {
      refused(yaml(`status: {token: ${token}}`), 'ANSWER_FIELD_INVALID');
    }
    refused(`{apiVersion: ${v1}, status: {token: t}}`, 'ANSWER_UNPARSABLE');
    refused(`{"apiVersion": "${v1}", "status": {"token": "t"},}`, 'ANSWER_UNPARSABLE');
  });

  test('has its token sent as UTF-8', () => {
    assert.equal(decode(answer({ token: 'é' })).authorization, 'Bearer \u00c3\u00a9');
  });

  for (const [what, given, code] of [
    ['blanks', ' \n ', 'ANSWER_EMPTY'],
    ['garbage', `{"token": "${secret}`, 'ANSWER_UNPARSABLE'],
    ['text', secret, 'ANSWER_UNPARSABLE'],
    ['a list', '[]', 'ANSWER_UNPARSABLE'],
    ['a version that is a secret', answer({ token: 'x' }, { apiVersion: `${secret} ` }), 'ANSWER_WRONG_VERSION'],
    ['another kind', answer({ token: secret }, { kind: 'Status' }), 'ANSWER_UNPARSABLE'],
    ['an empty object', {}, 'ANSWER_WRONG_VERSION'],
    ['a token that is a number', answer({ token: 1 }), 'ANSWER_FIELD_INVALID'],
    ['a null status', answer(null), 'ANSWER_NO_CREDENTIAL'],
    ['an empty token', answer({ token: '' }), 'ANSWER_NO_CREDENTIAL'],
    ['a lone key', answer({ clientKeyData: keyPair.key }), 'ANSWER_HALF_PAIR'],
    ['no PEM', answer({ clientCertificateData: secret, clientKeyData: secret }), 'ANSWER_FIELD_INVALID'],
    ['a status that is a list', answer([secret]), 'ANSWER_FIELD_INVALID'],
  ] as const) {
    test(`cannot be ${what}`, () => refused(given, code));
  }

  test('expires when expirationTimestamp says so, and at no other time', () => {
    for (const [expirationTimestamp, expected] of [
      [undefined, undefined],
      [null, undefined],
      ['2030-01-01T00:00:00Z', Date.UTC(2030, 0)],
      // Go's zero time means never, in whatever zone it is written.
      ['0001-01-01T00:00:00Z', undefined],
      ['0001-01-01T02:00:00+02:00', undefined],
      ['1970-01-01T00:00:00Z', 0],
    ] as const)
      assert.equal(decode(answer({ token: 't', expirationTimestamp })).expiresAt, expected, `${expirationTimestamp}`);
  });

  test('is never printed', () => {
    const credential = decode(answer({ token: secret, ...pair }));
    const shown = `${inspect(credential, { depth: 9, showHidden: true })}${JSON.stringify(credential)}${credential}`;
    assert.ok(!shown.includes(secret) && !shown.includes('PRIVATE KEY'), shown);
  });
});

// test/e2e/exec-answers.ts compares more of them with client-go.
describe('an RFC 3339 time', () => {
  const time = Date.UTC(2024, 1, 29, 12, 30, 45);
  for (const [text, expected] of [
    ['2024-02-29T12:30:45Z', time],
    ['2024-02-29T12:30:45.5Z', time + 500],
    ['2024-02-29T12:30:45,123456789Z', time + 123],
    ['2024-02-29T14:30:45+02:00', time],
    ['2024-02-29T07:00:45-05:30', time],
    ['2024-02-29T9:30:45Z', time - 3 * 3_600_000],
  ] as const) {
    test(`may be ${text}`, () => assert.equal(parseRfc3339(text), expected));
  }

  for (const text of ['2024-02-29', '2024-02-29 12:30:45Z', '2024-02-30T12:30:45Z', '2024-02-29T12:30:60Z']) {
    test(`cannot be ${JSON.stringify(text)}`, () => assert.equal(parseRfc3339(text), undefined));
  }
});

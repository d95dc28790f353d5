import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { diagnose } from '../../src/diagnose/plugin-run.ts';
import { decodeExecCredential } from '../../src/exec/exec-credential.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const now = Date.parse('2030-01-01T00:00:00Z');
const secret = 'SECRET-3f9a-c81d-77aa';
const jwt = (claims: object) => `${secret}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`;

function diagnosed(answer: object): ReturnType<typeof diagnose> {
  const credential = decodeExecCredential(JSON.stringify(answer), [apiVersion]);
  const diagnosis = diagnose(credential, { stderr: '' }, now);
  const text = JSON.stringify(diagnosis);
  assert.ok(!text.includes(secret));
  return JSON.parse(text);
}

const answered = (status: object, more: object = {}) => ({ kind: 'ExecCredential', apiVersion, status, ...more });

describe("a plugin's answer", () => {
  test('that is as it should be has its kind and expiry told, and nothing else', () => {
    assert.deepEqual(diagnosed(answered({ token: secret, expirationTimestamp: '2030-01-01T01:00:00Z' })), {
      warnings: [],
      credential: { kinds: ['token'], expirationTimestamp: '2030-01-01T01:00:00Z', expiresInSeconds: 3600 },
    });
  });

  for (const [what, answer, said] of [
    ['no expiry', answered({ token: secret }), /sets no expirationTimestamp, so clients keep/],
    ['no expiry beside a JWT', answered({ token: jwt({ exp: now / 1000 }) }), /\(it expires at 2030-01-01T00:00:00Z\)/],
    [
      'an expiry that has passed',
      answered({ token: secret, expirationTimestamp: '2029-12-31T00:00:00Z' }),
      /has passed already/,
    ],
    [
      'a JWT that ends before',
      answered({ token: jwt({ exp: now / 1000 + 600 }), expirationTimestamp: '2030-01-01T01:00:00Z' }),
      /JWT that expires at 2030-01-01T00:10:00Z, before expirationTimestamp/,
    ],
  ] as const) {
    test(`with ${what} is warned of`, () => {
      const { warnings } = diagnosed(answer);
      assert.match(warnings.join('\n'), said);
    });
  }

  test('with a certificate has its times told', () => {
    const { certificate, key } = createCertificateAuthority().issue({ commonName: 'me', client: true });
    const status = { clientCertificateData: certificate, clientKeyData: key };
    const { credential } = diagnosed(answered({ ...status, expirationTimestamp: '2030-01-01T01:00:00Z' }));
    assert.deepEqual(credential.kinds, ['client certificate']);
    assert.match(credential.certificate?.notAfter ?? '', /^\d{4}-\d\d-\d\dT[\d:]+Z$/);
  });
});

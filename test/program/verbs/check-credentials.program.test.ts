// What a check says of the credential.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCertificateAuthority } from '../../../src/testing/index.ts';
import { check, startOddServer, working } from '../../fixtures/checked.ts';
import { print } from '../../fixtures/script.ts';

/** Signed by nobody. */
const jwtOf = (claims: object) =>
  [{ alg: 'RS256' }, claims, 'signature']
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');

describe('clusterprofile check', () => {
  test('shows issuer, audience and expiry of a token that is refused, says which looks wrong, and never shows it', async (t) => {
    const seconds = Math.floor(Date.now() / 1_000);
    const refusing = await startOddServer(t, {
      selfsubjectreviews: [401, '{"kind":"Status","message":"Unauthorized"}'],
    });
    const cases = [
      [
        { iss: 'https://issuer', aud: 'spoke', exp: seconds - 7_500 },
        /has expired already, 2 h ago [\s\S]*iss https:\/\/issuer; aud spoke; exp /,
      ],
      [
        { iss: 'https://issuer', sub: 'system:serviceaccount:a:b', aud: ['vault'], exp: seconds + 7_500 },
        /aud vault; .*\n.*the audience looks wrong: .* usually the issuer or https:\/\/kubernetes\.default\.svc/,
      ],
      [
        { iss: 'https://issuer', sub: 'system:serviceaccount:a:b', aud: ['https://issuer'], exp: seconds + 7_500 },
        /aud https:\/\/issuer; .*\n.*whether the service account, or the Pod or Secret .* has been deleted, .*trusts this issuer/,
      ],
      [
        { iss: 'https://login.example.dev/8a1bf2c4-0d3e/v2.0', aud: ['hunter2-of-the-plugin', `x.${'aB3'.repeat(9)}`] },
        /iss https:\/\/login\.example\.dev\/8a1bf2c4-0d3e\/v2\.0; aud \[redacted\], x\.\[redacted\]; no exp\n/,
      ],
      [{ sub: 'me', aud: 'a\u001b' }, /iss none; aud a\\u001b; no exp\n.*trusts this issuer for this audience/],
    ] as const;
    await Promise.all(
      cases.map(async ([claims, expected]) => {
        const token = jwtOf(claims);
        const env = { CLIENT_SECRET: 'hunter2-of-the-plugin' };
        const { stdout } = await check(t, { spoke: refusing }, { code: print({ token }), args: ['spoke'], env });
        assert.match(stdout, expected);
        for (const part of token.split('.')) assert.doesNotMatch(stdout, new RegExp(part));
      }),
    );
  });

  test('warns of a token that ends soon and names no expiry, and fails at the plugin for a credential that is over', async (t) => {
    const [seconds, takes] = [Math.floor(Date.now() / 1_000), await startOddServer(t, working)];
    const at = (offset: number) => new Date((seconds + offset) * 1_000).toISOString();
    const anHour = jwtOf({ exp: seconds + 3_600 });
    const cases = [
      [{ token: anHour }, 0, /warn {2}plugin .* for another 59 min \(the token's exp\)\n.*renew/],
      [{ token: jwtOf({ exp: seconds + 90_000 }) }, 0, /ok {4}plugin .* for another 24 h \(the token's exp\)\n/],
      [{ token: anHour, expirationTimestamp: at(3_600) }, 0, /ok {4}plugin .* for another 59 min\n/],
      [
        { token: 'a', expirationTimestamp: at(-7_300) },
        12,
        /FAIL {2}plugin .* has expired already, 2 h ago \(expiration/,
      ],
      [
        { token: jwtOf({ exp: seconds - 7_300 }) },
        12,
        /FAIL {2}plugin .* 2 h ago \(the token's exp: .*\n.*whether the clock/,
      ],
    ] as const;
    await Promise.all(
      cases.map(async ([status, code, expected]) => {
        const { stdout, exitCode } = await check(t, { spoke: takes }, { code: print(status), args: ['spoke'] });
        assert.match(stdout, expected);
        assert.equal(exitCode, code);
      }),
    );
  });

  test('says whom a client certificate that is refused is of, and by which authority', async (t) => {
    const refusing = await startOddServer(t, { selfsubjectreviews: [401, '{"kind":"Status"}'] });
    const { certificate, key } = createCertificateAuthority('other-ca').issue({ commonName: 'me', client: true });
    const code = print({ clientCertificateData: certificate, clientKeyData: key });
    const { stdout } = await check(t, { spoke: refusing }, { code, args: ['spoke'] });
    assert.match(
      stdout,
      /\(401\); the client certificate is of me, by other-ca, until 20.*Z\n.*trusts other-ca for clients \(--client-ca-file\)/,
    );
    assert.doesNotMatch(stdout, /PRIVATE KEY/);
  });
});

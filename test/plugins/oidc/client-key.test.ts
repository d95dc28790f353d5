import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { readClientKey } from '../../../src/plugins/oidc/issuer.ts';

describe("a client's key", () => {
  for (const [type, options, algorithm, name] of [
    ['rsa', { modulusLength: 2048 }, 'RS256', 'RSASSA-PKCS1-v1_5'],
    ['rsa', { modulusLength: 2048 }, 'PS256', 'RSA-PSS'],
    ['ec', { namedCurve: 'P-256' }, 'ES256', 'ECDSA'],
    ['ec', { namedCurve: 'P-384' }, 'ES384', 'ECDSA'],
    ['ed25519', {}, 'EdDSA', 'Ed25519'],
  ] as const) {
    test(`of the type ${type} signs with ${algorithm}`, () => {
      // The overloads take a literal each; the table has them all.
      const { privateKey } = generateKeyPairSync(type as 'rsa', options as { modulusLength: number });
      const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      assert.equal(readClientKey(pem, algorithm === 'PS256' ? algorithm : undefined).algorithm.name, name);
      const other = algorithm === 'ES256' ? 'RS256' : 'ES256';
      assert.throws(() => readClientKey(pem, other), /which is for .*, not for /);
    });
  }
});

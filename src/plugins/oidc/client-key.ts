/** A client's private key, for the signature of `private_key_jwt`. */
import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto';

/** JWS algorithms (RFC 7518, RFC 8037). */
export const keyAlgorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const;
export type KeyAlgorithm = (typeof keyAlgorithms)[number];

const imports: {
  readonly [A in KeyAlgorithm]: { readonly type: string; readonly key: Parameters<KeyObject['toCryptoKey']>[0] };
} = {
  RS256: { type: 'rsa', key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } },
  PS256: { type: 'rsa', key: { name: 'RSA-PSS', hash: 'SHA-256' } },
  ES256: { type: 'prime256v1', key: { name: 'ECDSA', namedCurve: 'P-256' } },
  ES384: { type: 'secp384r1', key: { name: 'ECDSA', namedCurve: 'P-384' } },
  EdDSA: { type: 'ed25519', key: { name: 'Ed25519' } },
};

/** Reads PEM. Without a given algorithm it is the usual one for the key's type. Throws an error that quotes nothing of the key. */
export function readClientKey(pem: string, asked: KeyAlgorithm | undefined): webcrypto.CryptoKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new Error('holds no private key: it has to be PEM, and not encrypted');
  }
  const type = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType ?? 'unknown';
  const algorithm = asked ?? keyAlgorithms.find((candidate) => imports[candidate].type === type);
  if (algorithm && imports[algorithm].type === type) return key.toCryptoKey(imports[algorithm].key, false, ['sign']);
  const fitting =
    keyAlgorithms.filter((candidate) => imports[candidate].type === type).join(' or ') || 'no known algorithm';
  throw new Error(`holds a key of the type ${type}, which is for ${fitting}${asked ? `, not for ${asked}` : ''}`);
}

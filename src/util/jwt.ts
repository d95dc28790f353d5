/** What a JWT says of itself. Nothing of it is verified. */
import { tryParseJson } from './guards.ts';

type JwtClaims = { readonly [Name in 'iss' | 'sub' | 'aud' | 'exp' | 'nbf' | 'iat']?: unknown };

/** `undefined` if it is no JWT. */
export function claimsOfJwt(token: string): JwtClaims | undefined {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? [];
  if (payload === undefined) return undefined;
  const claims = tryParseJson(Buffer.from(payload, 'base64url').toString('utf8'));
  return claims === undefined ? undefined : Object(claims);
}

/** When a JWT expires, in milliseconds since 1970; `undefined` if it is no JWT or has no `exp`. */
export function expiryOfJwt(token: string): number | undefined {
  return timeOfClaim(claimsOfJwt(token)?.exp);
}

/** Of `exp` or `nbf`, in milliseconds since 1970. */
export function timeOfClaim(seconds: unknown): number | undefined {
  return typeof seconds === 'number' ? timeOf(seconds * 1_000) : undefined;
}

/** `undefined` if RFC 3339 cannot express it, for example milliseconds that were given as seconds. */
export function timeOf(ms: number): number | undefined {
  return ms >= 0 && ms < Date.UTC(10_000, 0) ? ms : undefined;
}

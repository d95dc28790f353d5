/** When a JWT expires, in milliseconds since 1970; `undefined` if it is no JWT or has no `exp`. Verifies nothing. */
export function expiryOfJwt(token: string): number | undefined {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? [];
  if (payload === undefined) return undefined;
  try {
    const { exp }: { readonly exp?: unknown } = Object(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    return typeof exp === 'number' ? timeOf(exp * 1_000) : undefined;
  } catch {
    return undefined;
  }
}

/** `undefined` if RFC 3339 cannot express it, for example milliseconds that were given as seconds. */
export function timeOf(ms: number): number | undefined {
  return ms >= 0 && ms < Date.UTC(10_000, 0) ? ms : undefined;
}

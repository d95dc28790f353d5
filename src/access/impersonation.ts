/** The headers of impersonation, and what a header's value may hold. */

/** The user that requests act as, if the API server lets their credential impersonate it. */
export interface ImpersonationConfig {
  readonly user: string;
  readonly groups?: readonly string[] | undefined;
  readonly uid?: string | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Headers of every request, with names in lower case. */
export type ImpersonationHeaders = Readonly<Record<string, readonly string[]>>;

/** Reports a field whose value cannot be sent in a header. Without `report` that has been done before. */
export function impersonationHeaders(
  { user, groups = [], uid, extra = {} }: ImpersonationConfig,
  report: (field: keyof ImpersonationConfig, name: string | undefined, message: string) => void = () => {},
): ImpersonationHeaders {
  const headers: Record<string, readonly string[]> = {};
  const set = (header: string, values: readonly string[], field: keyof ImpersonationConfig, name?: string) => {
    if (values.length === 0) return;
    const written = values.map(headerValue).filter((value) => value !== undefined);
    if (written.length < values.length) report(field, name, 'holds a character that cannot be sent in a header');
    // Servers and proxies trim the blank, which makes it another user, or drop the header, which impersonates nobody.
    if (values.some((value) => /^[\t ]|[\t ]$/.test(value))) report(field, name, 'begins or ends with a blank');
    headers[header] = written;
  };
  set('impersonate-user', user === '' ? [] : [user], 'user');
  set('impersonate-uid', uid ? [uid] : [], 'uid');
  set('impersonate-group', groups, 'groups');
  for (const [name, values] of Object.entries(extra)) {
    set(`impersonate-extra-${escapeHeaderKey(name.toLowerCase())}`, values, 'extra', name);
  }
  return headers;
}

/** Percent-encodes characters that a header's name cannot have. The API server decodes them. */
function escapeHeaderKey(name: string): string {
  const toHex = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  return Buffer.from(name)
    .toString('latin1')
    .replace(/[^a-z0-9!#$&'*+.^_`|~-]/g, toHex);
}

/**
 * Encodes text as a header value: each UTF-8 byte as one character, which is how Node and undici write headers and what client-go
 * sends. `undefined` if it has a line break or another control character.
 */
export function headerValue(text: string): string | undefined {
  return /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : undefined;
}

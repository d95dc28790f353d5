/**
 * The code of an error, or of its first cause with one, as a log field: `PLUGIN_TIMEOUT`, `ECONNREFUSED`. Empty if there is none.
 */
export function codeFieldOf(error: unknown): { readonly code?: string } {
  try {
    let one = error;
    for (let depth = 0; depth < 8 && one instanceof Error; depth++, one = one.cause) {
      if ('code' in one && typeof one.code === 'string' && /^[A-Z][A-Z\d_]{1,50}$/.test(one.code))
        return { code: one.code };
    }
  } catch {
    // The properties of a caller's error may throw.
  }
  return {};
}

/** The code of an operating system's error (`ENOENT`), for messages: its own message may quote arguments. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/** The code of an operating system's error (`ENOENT`), for messages: its own message may quote arguments. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

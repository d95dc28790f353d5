/** Bytes of one object: API servers refuse those of more than a few MiB. */
export const longestObject = 64 * 1024 * 1024;

/** An answer that no API server sends. The message goes on after "the answer ...: ". */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

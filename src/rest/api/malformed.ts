/** Responses that no API server sends: the server is not trusted, and one thread parses for all clusters. */

/** Bytes of one object: etcd takes 1.5 MiB by default, and JSON has six bytes for one that it escapes (Go does so with `<`). */
export const longestObject = 10 * 1024 * 1024;

/** A response that no API server sends. Its message continues "the answer ...: ". */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

/** Parsing would take too long. A page can be requested with fewer objects. */
export class TooLarge extends MalformedResponse {
  constructor() {
    super(`one of its objects is larger than ${longestObject / 1024 / 1024} MiB, which no API server stores`);
  }
}

/** Refuses a body that is neither plain nor gzip. */
export function checkEncoding(encoding: string): void {
  if (encoding !== '' && encoding !== 'gzip')
    throw new MalformedResponse(
      `it is compressed (${encoding}), which this client did not request: check the proxies and gateways in between`,
    );
}

/** What an error of zlib says about the response. Any other error is returned as it is. */
export function unpackError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return new TooLarge();
  return String(error.code).startsWith('Z_')
    ? new MalformedResponse(`it cannot be unpacked (gzip): ${error.message}`)
    : error;
}

/** @throws {MalformedResponse} with `message` if the text is not JSON */
export function parseJson(text: string, message: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedResponse(message);
  }
}

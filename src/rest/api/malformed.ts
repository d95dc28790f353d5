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

/** Refuses a body in another encoding than this. API servers compress on request only, and never a watch. */
export function checkEncoding(encoding: string, asked = ''): void {
  if (encoding !== '' && encoding !== asked)
    throw new MalformedResponse(
      `it is compressed (${encoding}), which this client did not request: check the proxies and gateways in between`,
    );
}

/** @throws {MalformedResponse} with `message` if the text is not JSON */
export function parseJson(text: string, message: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedResponse(message);
  }
}

/** Limits on what an API server may send: it is not trusted, and one thread reads for all clusters. */

/** Bytes of one object: etcd takes 1.5 MiB by default, and JSON has six bytes for one that it escapes (Go does so with `<`). */
export const longestObject = 10 * 1024 * 1024;
/** Any shorter text is parsed in a few milliseconds. */
const shortText = 128 * 1024;
/** The most values in one text, and the deepest nesting. Real objects have one value in about twenty bytes; JSON.parse takes time for each. */
const mostValues = 250_000;
const deepest = 1_000;

/** An answer that no API server sends. The message goes on after "the answer ...: ". */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

/** Parsing would take too long. A page can be requested with fewer objects. */
export class TooLarge extends MalformedResponse {
  constructor(
    message = `one of its objects is larger than ${longestObject / 1024 / 1024} MiB, which no API server stores`,
  ) {
    super(message);
  }
}

/** Refuses a body in another encoding than this. API servers compress on request only, and never a watch. */
export function checkPacking(packing: string, asked = ''): void {
  if (packing !== '' && packing !== asked)
    throw new MalformedResponse(
      `it is compressed (${packing}), which this client did not request: check the proxies and gateways in between`,
    );
}

/**
 * Parses JSON, within limits that protect the other clusters.
 * @throws {MalformedResponse} with `message` if the text is not JSON
 */
export function parseBounded(text: string, message: string): unknown {
  if (text.length > shortText) checkShape(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedResponse(message);
  }
}

function checkShape(text: string): void {
  let [depth, values] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        values += 1;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
      case 0x2c:
        values += 1;
    }
    if (depth > deepest) throw new TooLarge(`it is nested deeper than ${deepest} levels`);
    if (values > mostValues) throw new TooLarge(`it has more than ${mostValues} values in a few MiB`);
  }
}

/** The index of the quote that ends the string which begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    at = quote;
  }
}

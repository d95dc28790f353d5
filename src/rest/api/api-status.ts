/** Unsuccessful responses of an API server: a `Status`, or something that cannot be parsed. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError, type ClusterOfError, type StatusCause } from '../../errors/index.ts';
import { redactBeginning } from '../../redaction/known-secrets.ts';
import { tryParseJson } from '../../util/guards.ts';

/** Returns the first characters of a server's text, redacted. */
export type Shown = (text: string, length: number, options?: { readonly isCut?: boolean }) => string;

/** Causes that are kept. */
const mostCauses = 100;

interface ReadStatus {
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  /** The object that the server speaks of. */
  readonly name?: string;
  readonly causes?: readonly StatusCause[];
}

/** Reads a `Status`, as text or parsed, and redacts it: a server may echo the request. */
export function readStatus(
  status: unknown,
  shown: Shown = (text, length) => redactBeginning(text, length),
): ReadStatus {
  const value = typeof status === 'string' ? tryParseJson(status) : status;
  if (typeof value !== 'object' || value === null) return {};
  const { reason, message, code, details } = value as Record<string, unknown>; // each is looked at below
  const { name, causes } = Object(details);
  return {
    ...shownTexts({ reason, name }, 200, shown),
    ...shownTexts({ message }, 2_000, shown),
    ...(typeof code === 'number' ? { code } : {}),
    ...(Array.isArray(causes) ? { causes: causes.slice(0, mostCauses).map((cause) => readCause(cause, shown)) } : {}),
  };
}

function readCause(cause: unknown, shown: Shown): StatusCause {
  const { reason, message, field } = Object(cause);
  return { ...shownTexts({ reason, field }, 200, shown), ...shownTexts({ message }, 2_000, shown) };
}

function shownTexts<Name extends string>(
  fields: Readonly<Record<Name, unknown>>,
  length: number,
  shown: Shown,
): { readonly [K in Name]?: string } {
  const texts: { [K in Name]?: string } = {};
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string') texts[name] = shown(value, length);
  }
  return texts;
}

/** An unsuccessful response. */
interface Refusal {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** The whole of its body, or the beginning. */
  readonly text: string;
  readonly isCut: boolean;
}

/** The error for a refused request: `opening`, then the message of its `Status`, or the beginning of another body. */
export function refusalError(
  opening: string,
  { statusCode, headers, text, isCut }: Refusal,
  shown: Shown,
  cluster: ClusterOfError,
): ApiError {
  const { reason, message, causes } = readStatus(text, shown);
  const said = message ?? shown(text, 200, { isCut });
  const seconds = Number([headers['retry-after']].flat()[0]);
  return new ApiError('API_STATUS', `${opening}${said === '' ? '' : `: ${said}`}`, {
    statusCode,
    cluster,
    reason,
    ...(causes === undefined ? {} : { causes }),
    ...(seconds >= 0 ? { retryAfterMs: seconds * 1_000 } : {}),
  });
}

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
  return String(error.code).startsWith('Z_')
    ? new MalformedResponse(`it cannot be unpacked (gzip): ${error.message}`)
    : error;
}

/** @throws {MalformedResponse} with `message` if the text is not JSON */
export function parseJson(text: string, message: string): unknown {
  const value = tryParseJson(text);
  if (value === undefined) throw new MalformedResponse(message);
  return value;
}

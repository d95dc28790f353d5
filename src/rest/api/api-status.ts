/** The `Status` with which an API server refuses a request. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError, type ClusterOfError, type StatusCause } from '../../errors/index.ts';
import { redactBeginning } from '../../redaction/known-secrets.ts';

/** Returns the first characters of a server's text, redacted. */
export type Shown = (text: string, length: number, options?: { readonly isCut?: boolean }) => string;

/** Causes that are kept. */
const mostCauses = 100;

export interface ReadStatus {
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  /** The object that the server speaks of. */
  readonly name?: string;
  readonly causes?: readonly StatusCause[];
}

/** Reads a `Status`, as text or parsed, and redacts it: a server may echo what it was sent. */
export function readStatus(
  status: unknown,
  shown: Shown = (text, length) => redactBeginning(text, length),
): ReadStatus {
  let value = status;
  if (typeof status === 'string') {
    try {
      value = JSON.parse(status);
    } catch {
      return {};
    }
  }
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

/** A response that is no success. */
export interface Refusal {
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

/** What reading an answer failed with, as this package says it: the client that reads it knows neither the cluster nor what to do. */
import { type ClusterOfError, CredentialsError, RequestError } from '../errors.ts';
import { redactBeginning } from '../redaction/redact.ts';
import type { Answer } from './answer.ts';

/** What is known beside the error. */
interface Known {
  /** How many have come. */
  readonly bytes?: number | undefined;
  /** What may be shown of a text of the server: so many characters of its beginning. */
  readonly shown?: ((text: string, length: number) => string) | undefined;
}

/** Characters of somebody else's message that are told. */
const longestReason = 1_000;

export function toBrokenAnswer(
  error: unknown,
  cluster: ClusterOfError | undefined,
  { bytes, shown = redactBeginning }: Known = {},
): CredentialsError {
  if (error instanceof CredentialsError) return error;
  const look = 'see what stands between';
  // Without the cause: it quotes the body, which may be a Secret's.
  if (error instanceof SyntaxError) {
    const cut = bytes === undefined ? 'was cut off' : `was cut off after ${bytes} bytes`;
    const message = `the answer is no JSON, whatever its header says, or ${cut}: ${look}`;
    return new RequestError('RESPONSE_INVALID', message, {}, cluster);
  }
  const isPacked = /^(?:Z_|ERR_BROTLI|ERR__ERROR|ZSTD_)/.test(String(Reflect.get(Object(error), 'code')));
  if (isPacked) {
    const message = `the body of the answer is not packed as its header says: ${look}`;
    return new RequestError('RESPONSE_INVALID', message, { cause: error }, cluster);
  }
  // Without the cause again: it may quote a header, such as the content type.
  const why = shown(error instanceof Error ? error.message : String(error), longestReason);
  return new RequestError('RESPONSE_INVALID', `the answer cannot be read: ${why}: ${look}`, {}, cluster);
}

type Reader = (...given: unknown[]) => unknown;

/**
 * A generated client whose answers, where it cannot read them, are told as our own error. It parses them itself, and a second
 * parse to look at them first would cost a third of its time; so its readers are wrapped, which are fields of its own.
 */
export function tellBrokenAnswers<T extends object>(
  client: T,
  cluster: ClusterOfError,
  shown: (text: string, length: number) => string,
): T {
  const telling = (reader: Reader, owner: object) => async (response: unknown, type: unknown) => {
    try {
      return await Reflect.apply(reader, owner, [response, type]);
    } catch (error) {
      if (isApiException(error)) throw error;
      const body: unknown = Reflect.get(Object(response), 'body');
      const { size, failure } = isAnswer(body) ? body : {};
      // What broke it off has its own words: those of the caller's signal, say.
      if (failure && Object.is(failure.reason, error)) throw error;
      throw toBrokenAnswer(error, cluster, { bytes: size, shown });
    }
  };
  const api: unknown = Reflect.get(client, 'api');
  const processor: unknown = Reflect.get(Object(api), 'responseProcessor');
  if (typeof api === 'object' && api !== null && typeof processor === 'object' && processor !== null) {
    const value = new Proxy(processor, {
      get(target, name) {
        const reader: unknown = Reflect.get(target, name);
        return isReader(reader) ? telling(reader, target) : reader;
      },
    });
    Object.defineProperty(api, 'responseProcessor', { value });
  }
  // KubernetesObjectApi has one beside it.
  const own: unknown = Reflect.get(client, 'processResponse');
  if (isReader(own)) Object.defineProperty(client, 'processResponse', { value: telling(own, client) });
  return client;
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && 'size' in value && 'failure' in value;
}

/** The server's own word, with its status. Known by its shape: a program may have a second copy of client-node. */
function isApiException(error: unknown): boolean {
  return error instanceof Error && typeof Reflect.get(error, 'code') === 'number' && 'headers' in error;
}

function isReader(value: unknown): value is Reader {
  return typeof value === 'function';
}

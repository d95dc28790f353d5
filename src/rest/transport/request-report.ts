import type { Dispatcher } from 'undici';
import { hideSecrets } from '../../redaction/known-secrets.ts';
import { emit, type Observer, type RequestStart } from '../../telemetry.ts';

let lastId = 0;

/** Tells observers of one request: when it begins, and when it has ended. */
export class RequestReport {
  readonly #observer: Observer | undefined;
  readonly #start: RequestStart;
  readonly #longRunning: boolean;
  readonly #began = performance.now();
  #statusCode: number | undefined;
  #answerMs: number | undefined;

  constructor(
    observer: Observer | undefined,
    provider: string,
    origin: string,
    options: Dispatcher.DispatchOptions,
    longRunning: boolean,
    secrets: readonly string[],
  ) {
    this.#observer = observer;
    this.#longRunning = longRunning;
    lastId += 1;
    const path = pathOf(options, secrets);
    this.#start = { requestId: lastId, provider, origin, method: String(options.method), path };
    emit(observer, 'request-start', this.#start);
  }

  answered(statusCode: number): void {
    this.#statusCode = statusCode;
    this.#answerMs = performance.now() - this.#began;
  }

  ended(error: Error | undefined): void {
    const code = error && 'code' in error && typeof error.code === 'string' ? error.code : error?.name;
    emit(this.#observer, 'request-end', {
      ...this.#start,
      ...(this.#statusCode === undefined ? {} : { statusCode: this.#statusCode }),
      ...(this.#answerMs === undefined ? {} : { answerMs: this.#answerMs }),
      ...(code === undefined ? {} : { code }),
      durationMs: performance.now() - this.#began,
      longRunning: this.#longRunning,
    });
  }
}

/** Without the query. A redirect may have brought what the server was sent. */
function pathOf(options: Dispatcher.DispatchOptions, secrets: readonly string[]): string {
  const path = String(options.path).replace(/[?#].*/s, '');
  // Looking closely takes time, and this is done for each request.
  const isSuspect = path.includes('%') || secrets.some((secret) => path.includes(secret));
  return isSuspect ? hideSecrets(path, secrets) : path;
}

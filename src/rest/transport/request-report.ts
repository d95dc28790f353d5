import type { Dispatcher } from 'undici';
import { hideWholeSecrets } from '../../redaction/known-secrets.ts';
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
    // A redirect may have brought what the server was sent.
    const path = hideWholeSecrets(String(options.path).replace(/[?#].*/s, ''), secrets);
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

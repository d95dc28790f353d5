/**
 * Reports each request: to metrics, `diagnostics_channel` and the log. Errors of Node and undici become this package's here, and one that
 * takes longer than `requestTimeoutMs` ends here, unless it is long-running.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { ConnectionError } from '../../errors/index.ts';
import { emit, isObserved, type RequestStart, reconcileField, reconcileScope } from '../../observability/telemetry.ts';
import { hideWholeSecrets } from '../../redaction/known-secrets.ts';
import { toOwnError } from '../transport/connection-errors.ts';
import { requestName, withoutQuery } from '../transport/wire-request.ts';
import { type Layer, type OutgoingRequest, RelayedRequest } from './layer.ts';

/** Characters of a warning that are logged. */
const longestWarning = 512;

export const report: Layer = (request, handler, next) => next(request, new ReportedRequest(request, handler));

class ReportedRequest extends RelayedRequest {
  /** Present if the events of requests are observed. */
  readonly #start: RequestStart | undefined;
  readonly #began = performance.now();
  #statusCode: number | undefined;
  #answerMs: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  /** Events of a socket do not know it. */
  readonly #scope = reconcileScope.getStore();

  constructor(request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(request, handler);
    const { observer, requestTimeoutMs } = request.connection.options;
    if (isObserved(observer, 'request-start') || isObserved(observer, 'request-end')) this.#start = began(request);
    if (requestTimeoutMs !== undefined && !request.longRunning)
      this.#timer = setTimeout(() => this.#tooLong(requestTimeoutMs), requestTimeoutMs).unref();
  }

  #tooLong(ms: number): void {
    const message = `no complete response within requestTimeoutMs (${ms} ms): check whether the server is overloaded, or raise it`;
    this.abort(new ConnectionError('RESPONSE_TIMEOUT', this.request.owner.cluster, message));
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    this.request.owner.log.answered();
    // Early hints and the like: the response is still to come.
    if (statusCode >= 200) {
      this.#statusCode = statusCode;
      this.#answerMs = performance.now() - this.#began;
    }
    if (headers.warning !== undefined) this.#warn(String(headers.warning));
    super.respond(statusCode, headers, message);
  }

  /** As kube-apiserver writes it (RFC 7234, 5.5): `299 - "text"`, or several of them. */
  #warn(header: string): void {
    const { options, owner } = this.request;
    for (const [, quoted = ''] of header.matchAll(/(?:^|,\s*)299 \S+ ("(?:[^"\\]|\\.)*")/g)) {
      const text = quoted.slice(1, -1).replace(/\\(.)/g, '$1');
      const key = owner.shown(text, longestWarning);
      const message = `the server warns about ${requestName(options)}: ${key}`;
      owner.log.problem('server', { key, message }, reconcileField(this.#scope));
    }
  }

  protected override complete(trailers: IncomingHttpHeaders): void {
    this.#ended(undefined);
    super.complete(trailers);
  }

  protected override fail(error: Error): void {
    if (this.done) return;
    const { owner, longRunning } = this.request;
    // What the caller aborts with stays as it is.
    const own = error === this.reason ? error : toOwnError(error, owner.cluster);
    // Dropped watches are routine: no warning.
    if (!this.answered || !longRunning) owner.log.failed(own, reconcileField(this.#scope));
    this.#ended(own);
    super.fail(own);
  }

  #ended(error: Error | undefined): void {
    clearTimeout(this.#timer);
    if (!this.#start) return;
    const code = error && 'code' in error && typeof error.code === 'string' ? error.code : error?.name;
    emit(this.request.connection.options.observer, 'request-end', {
      ...this.#start,
      ...(this.#statusCode === undefined ? {} : { statusCode: this.#statusCode }),
      ...(this.#answerMs === undefined ? {} : { answerMs: this.#answerMs }),
      ...(code === undefined ? {} : { code }),
      durationMs: performance.now() - this.#began,
      longRunning: this.request.longRunning,
    });
  }
}

let lastId = 0;

function began({ options, connection }: OutgoingRequest): RequestStart {
  lastId += 1;
  const { provider, origin, source } = connection;
  // A redirect may have brought what the server was sent.
  const path = hideWholeSecrets(withoutQuery(options.path), source.secrets);
  const start = { requestId: lastId, provider, origin, method: String(options.method), path, ...reconcileField() };
  emit(connection.options.observer, 'request-start', start);
  return start;
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { callCatching, reasonOf } from '../../observability/callbacks.ts';
import type { ClusterLog } from '../transport/cluster-log.ts';
import { Relay } from './relay.ts';

/** The first of all: the caller's handler. If it throws, its own request ends, as with undici, and nothing else. */
export class SafeHandler extends Relay {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #log: ClusterLog;
  readonly #onEnd: (handler: SafeHandler) => void;

  /** `onEnd` is called before the caller's last callback. */
  constructor(
    handler: Dispatcher.DispatchHandler,
    log: ClusterLog,
    onEnd: (handler: SafeHandler) => void = () => undefined,
  ) {
    super(handler);
    this.#handler = handler;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  /** Ends the request with its connection, or its config. */
  end(reason: Error): void {
    this.abort(reason instanceof RequestError ? reason.of(this.#log.cluster) : reason);
  }

  protected override start(): void {
    callCatching(() => super.start(), this.#abortWith);
  }

  protected override upgrade(statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    this.#onEnd(this);
    callCatching(
      () => super.upgrade(statusCode, headers, socket),
      (thrown) => {
        socket.destroy();
        this.#report(toError(thrown));
      },
    );
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    callCatching(() => super.respond(statusCode, headers, message), this.#abortWith);
  }

  protected override data(chunk: Buffer): void {
    callCatching(() => super.data(chunk), this.#abortWith);
  }

  protected override complete(trailers: IncomingHttpHeaders): void {
    this.#onEnd(this);
    callCatching(
      () => super.complete(trailers),
      (thrown) => this.#report(toError(thrown)),
    );
  }

  protected override fail(error: Error): void {
    if (this.done) return;
    this.#onEnd(this);
    callCatching(() => super.fail(error), this.#logThrown);
  }

  /** After its last callback: what that threw. */
  #report(error: Error): void {
    callCatching(() => this.#handler.onResponseError?.(this, error), this.#logThrown);
  }

  readonly #abortWith = (thrown: unknown): void => this.abort(toError(thrown));

  readonly #logThrown = (thrown: unknown): void =>
    this.#log.callerThrew(`the handler of a request has thrown: ${reasonOf(thrown)}`);
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new RequestError('REQUEST_ABORTED', 'a handler has thrown');
}

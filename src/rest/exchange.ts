import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ConnectionError, CredentialsError, RequestError } from '../errors.ts';
import type { Credential, KeyPair } from '../exec/exec-credential.ts';
import { printable } from '../printable.ts';
import type { ClusterLog } from './cluster-log.ts';
import type { Connection } from './connection.ts';
import { type ClusterFacts, mayGoOutAgain, toOwnError } from './connection-errors.ts';
import { hasHeader, withHeaders } from './headers.ts';
import type { PooledRequest } from './pool.ts';
import { ReplayableBody } from './replayable-body.ts';
import { isLongRunning, type RequestPool } from './request-pool.ts';
import type { RequestReport } from './request-report.ts';

/** The longest body of a 401 that is held while the credential is refreshed, in bytes. */
const heldLimit = 256 * 1024;

/** Why no server takes a client certificate, where its time says so. */
function lifetimeProblem(keyPair: KeyPair | undefined): string | undefined {
  const now = Date.now();
  const at = (ms: number) => new Date(ms).toISOString();
  if (keyPair && keyPair.endsAt < now) {
    return `its client certificate has expired (at ${at(keyPair.endsAt)}): see why it is not renewed`;
  }
  if (keyPair && keyPair.startsAt > now) {
    return `its client certificate is not valid before ${at(keyPair.startsAt)}: see the clocks of this machine and of the issuer`;
  }
  return undefined;
}

/** How often a request goes out again because its connection was lost. */
const maxResends = 5;

type RawHeaders = NonNullable<Dispatcher.DispatchController['rawHeaders']> | null;

/** A 401 that the caller gets if no better credential comes. */
interface HeldResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly statusMessage: string | undefined;
  readonly rawHeaders: RawHeaders;
  readonly chunks: Buffer[];
  size: number;
  trailers: IncomingHttpHeaders;
  ended: boolean;
}

/**
 * One request on its way. Towards undici it is the handler; towards the caller it is the one controller that stays the
 * same while the plugin runs, while the request is on the wire, and when it is replayed after a 401.
 */
export class Exchange implements PooledRequest, Dispatcher.DispatchController {
  readonly #connection: Connection;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #body: ReplayableBody;
  /** For errors. */
  readonly #cluster: ClusterFacts;
  readonly #log: ClusterLog;
  readonly #onEnd: (exchange: Exchange) => void;
  /** Where it waits or goes out now. */
  #pool: RequestPool | undefined;
  #wire: Dispatcher.DispatchController | undefined;
  #credential: Credential | undefined;
  /** True once the request goes out a second time because of a 401. */
  #replaying = false;
  /** True once the body has to come from what was kept of it. */
  #resend = false;
  #resends = 0;
  /** True once the caller has seen the beginning of a response. */
  #answered = false;
  #held: HeldResponse | undefined;
  /** `undefined` until the refresh after a 401 has ended; `null` where it brought nothing better. */
  #refreshed: Credential | null | undefined;
  #delivering = false;
  #done = false;
  #paused = false;
  #timer: NodeJS.Timeout | undefined;
  #report: RequestReport | undefined;
  #reason: Error | null = null;
  failures = 0;
  onTryEnd: (() => void) | undefined;

  constructor(
    connection: Connection,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    cluster: ClusterFacts,
    log: ClusterLog,
    onEnd: (exchange: Exchange) => void,
  ) {
    this.#connection = connection;
    this.#cluster = cluster;
    this.#log = log;
    this.#options = options;
    this.#handler = handler;
    this.#onEnd = onEnd;
    this.#body = new ReplayableBody(options.body);
    connection.hold();
  }

  /** Sends the request, at once where there is a credential. */
  start(): void {
    // Before the plugin runs: a caller who gives up meanwhile has something to say it to.
    this.#report = this.#connection.reportRequest(this.#options);
    this.#tell(() => this.#handler.onRequestStart?.(this, {}));
    if (this.#done) return;
    const { requestTimeoutMs } = this.#connection;
    if (requestTimeoutMs !== undefined && !isLongRunning(this.#options)) {
      const message = `no whole answer within requestTimeoutMs (${requestTimeoutMs} ms): see whether the server is busy, or raise it`;
      const tooSlow = () => this.abort(new ConnectionError('RESPONSE_TIMEOUT', this.#cluster, message));
      this.#timer = setTimeout(tooSlow, requestTimeoutMs).unref();
    }
    const { refreshing } = this.#connection;
    // What cannot be sent a second time waits for a refresh that a 401 has started.
    if (refreshing && this.#body.streamed) refreshing.then(() => this.#authenticate());
    else this.#authenticate();
  }

  #authenticate(): void {
    if (this.#done) return;
    try {
      // Static credentials win: such a request passes untouched, and runs no plugin.
      if (hasHeader(this.#options.headers, 'authorization')) {
        this.#send(undefined);
        return;
      }
      const credential = this.#connection.source.get(this.#log);
      if (credential instanceof Promise) {
        credential.then(
          (value) => this.#sendWith(value),
          (error: Error) => this.#fail(error),
        );
      } else {
        this.#sendWith(credential);
      }
    } catch (error) {
      this.#cannotSend(error);
    }
  }

  /** What this package or undici threw at: headers of another form, a body that is none. */
  #cannotSend(error: unknown): void {
    if (error instanceof CredentialsError) {
      this.#fail(error);
      return;
    }
    const message = `the request cannot be sent: ${error instanceof Error ? error.message : error}`;
    this.#fail(new RequestError('REQUEST_INVALID', message, { cause: error }));
  }

  #sendWith(credential: Credential): void {
    this.#log.hasCredential(this.#connection.source.troubles);
    this.#send(credential);
  }

  #send(credential: Credential | undefined): void {
    if (this.#done) return;
    this.#credential = credential;
    this.#wire = undefined;
    try {
      const headers = withHeaders(this.#options.headers, this.#ownHeaders(credential));
      const body = this.#resend ? this.#body.again() : this.#body.first();
      this.#pool = this.#connection.poolFor(credential);
      this.#pool.send({ ...this.#options, headers, body }, this);
    } catch (error) {
      this.#cannotSend(error);
    }
  }

  #ownHeaders(credential: Credential | undefined): Record<string, string | readonly string[]> {
    const authorization = credential?.authorization;
    const headers: Record<string, string | readonly string[]> = authorization === undefined ? {} : { authorization };
    // A caller who impersonates somebody is not overruled.
    if (!hasHeader(this.#options.headers, 'impersonate-user')) Object.assign(headers, this.#connection.impersonation);
    if (this.#connection.cluster.disableCompression) headers['accept-encoding'] = 'identity';
    return headers;
  }

  // What the pool and undici tell us. What another wire than the present one says is of an earlier try.

  notSent(error: Error): void {
    this.#fail(error);
  }

  onRequestStart(wire: Dispatcher.DispatchController): void {
    if (this.#done || this.#wire) {
      wire.abort(this.#reason ?? new RequestError('REQUEST_ABORTED', 'the request has ended'));
      return;
    }
    this.#wire = wire;
    if (this.#paused) wire.pause();
  }

  onRequestUpgrade(
    wire: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    if (wire !== this.#wire) return;
    this.#finish();
    this.#tell(() => this.#handler.onRequestUpgrade?.(this, statusCode, headers, socket));
  }

  onResponseStart(
    wire: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (this.#done || wire !== this.#wire) return;
    this.#log.answered();
    const rejected = this.#connection.isRejection(statusCode);
    if (!rejected && this.#credential) this.#log.accepted();
    if (rejected && this.#credential && !this.#replaying) {
      const rawHeaders = wire.rawHeaders ?? null;
      this.#held = { statusCode, headers, statusMessage, rawHeaders, chunks: [], size: 0, trailers: {}, ended: false };
      // Even where nothing can be replayed the caller waits for it: so the next request has the new credential.
      this.#log.debug(`${this.#name} was answered with ${statusCode}: the credential is refreshed`);
      this.#connection.refresh(this.#credential, statusCode, headers, this.#log).then((credential) => {
        this.#refreshed = credential ?? null;
        this.#afterRefresh();
      });
      return;
    }
    if (this.#replaying && rejected) {
      this.#rejected(statusCode, 'and the refreshed one too');
    } else if (this.#replaying) {
      this.#connection.accepted();
    }
    this.#answer(statusCode, headers, statusMessage);
  }

  onResponseData(wire: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done || wire !== this.#wire) return;
    const held = this.#held;
    if (!held) {
      this.#handler.onResponseData?.(this, chunk);
      return;
    }
    // undici may use the memory again.
    held.chunks.push(Buffer.from(chunk));
    held.size += chunk.length;
    if (held.size > heldLimit) this.#passOn(held);
  }

  onResponseEnd(wire: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    this.#endTry();
    if (this.#done || wire !== this.#wire) return;
    if (this.#held) {
      this.#held.ended = true;
      this.#held.trailers = trailers;
      if (this.#delivering) this.#deliver(this.#held);
      return;
    }
    this.#complete(trailers);
  }

  onResponseError(wire: Dispatcher.DispatchController | undefined, error: Error): void {
    this.failures += 1;
    this.#endTry();
    if (this.#done || (wire ?? undefined) !== this.#wire) return;
    if (this.#held && !this.#reason) {
      // The connection broke inside the body of a 401: what was read of it has to do.
      this.#held.ended = true;
      if (this.#delivering) this.#deliver(this.#held);
      return;
    }
    const again = !this.#answered && !this.#reason && this.#resends < maxResends && this.#body.replayable;
    if (again && mayGoOutAgain(error, this.#options.method)) {
      this.#resends += 1;
      this.#resend = true;
      this.#wire = undefined;
      // With the credential of now: the one before may have been replaced while the request waited.
      this.#log.debug(`${this.#name} is sent again: ${printable(error.message, 1_024)}`);
      this.#authenticate();
      return;
    }
    this.#fail(error);
  }

  /** Whoever lent a socket has it back. */
  #endTry(): void {
    const tell = this.onTryEnd;
    this.onTryEnd = undefined;
    tell?.();
  }

  /** When the refresh after a 401 has ended: replay, or hand the 401 to the caller. */
  #afterRefresh(): void {
    const held = this.#held;
    if (this.#done || !held) return;
    if (this.#refreshed && this.#body.replayable) {
      // Nobody needs the rest of it, which may never come.
      const before = held.ended ? undefined : this.#wire;
      this.#held = undefined;
      this.#replaying = true;
      this.#resend = true;
      this.#wire = undefined;
      this.#log.debug(`${this.#name} is sent again, with a new credential`);
      before?.abort(new RequestError('REQUEST_ABORTED', 'the request goes out with a new credential'));
      this.#send(this.#refreshed);
      return;
    }
    if (this.#refreshed) this.#log.debug(`${this.#name} cannot be sent again: its caller gets the ${held.statusCode}`);
    else this.#rejected(held.statusCode, 'and there is no better one now');
    this.#delivering = true;
    this.#answer(held.statusCode, held.headers, held.statusMessage);
    this.#deliver(held);
  }

  /** A 401 that is too long to be held goes to the caller while it comes; its refresh goes on for the next request. */
  #passOn(held: HeldResponse): void {
    this.#held = undefined;
    this.#answer(held.statusCode, held.headers, held.statusMessage);
    for (const chunk of held.chunks) if (!this.#done) this.#tell(() => this.#handler.onResponseData?.(this, chunk));
  }

  #deliver(held: HeldResponse): void {
    while (!this.#paused && !this.#done) {
      const chunk = held.chunks.shift();
      if (chunk) {
        this.#tell(() => this.#handler.onResponseData?.(this, chunk));
        continue;
      }
      if (held.ended) {
        this.#complete(held.trailers);
      } else {
        // The rest goes to the caller as it comes.
        this.#held = undefined;
      }
      return;
    }
  }

  #answer(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string | undefined): void {
    this.#answered = true;
    this.#report?.answered(statusCode);
    this.#tell(() => this.#handler.onResponseStart?.(this, statusCode, headers, statusMessage));
  }

  // What the caller tells us.

  pause(): void {
    this.#paused = true;
    if (!this.#held) this.#wire?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#delivering && this.#held) this.#deliver(this.#held);
    if (!this.#held) this.#wire?.resume();
  }

  abort(reason: Error): void {
    if (this.#done) return;
    this.#reason = reason ?? new RequestError('REQUEST_ABORTED', 'the request was aborted');
    const wire = this.#wire;
    this.#fail(this.#reason);
    this.#pool?.forget(this);
    wire?.abort(this.#reason);
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  get rawHeaders(): RawHeaders {
    return this.#held ? this.#held.rawHeaders : (this.#wire?.rawHeaders ?? null);
  }

  get rawTrailers(): RawHeaders {
    return this.#wire?.rawTrailers ?? null;
  }

  /** Calls the caller's handler. One that throws ends its own request, as undici has it, and nothing else. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.abort(error instanceof Error ? error : new RequestError('REQUEST_ABORTED', 'a handler has thrown'));
    }
  }

  /** The server goes on refusing the credential. */
  #rejected(statusCode: number, and: string): void {
    // Who has no credential is known as nobody, and may well be refused.
    if (!this.#credential?.authorization && !this.#credential?.keyPair) return;
    const why = lifetimeProblem(this.#credential?.keyPair) ?? 'see whether the server knows its issuer and audience';
    this.#log.rejected(`the server refuses the credential (${statusCode}), ${and}: ${why}`);
  }

  /** For the log: without the query. */
  get #name(): string {
    return `${this.#options.method} ${printable(this.#options.path.replace(/[?#].*/s, ''), 1_024)}`;
  }

  /** Ends the exchange with an error; the first one counts. */
  #fail(error: Error): void {
    if (this.#done) return;
    const own = error === this.#reason ? error : toOwnError(error, this.#cluster);
    // That a watch is cut off now and then is no trouble.
    if (!this.#answered || !isLongRunning(this.#options)) this.#log.failed(own);
    this.#finish(own);
    this.#tellError(own);
  }

  /** Ends the exchange with the end of the answer. */
  #complete(trailers: IncomingHttpHeaders): void {
    this.#finish();
    try {
      this.#handler.onResponseEnd?.(this, trailers);
    } catch (error) {
      this.#tellError(error instanceof Error ? error : new RequestError('REQUEST_ABORTED', 'a handler has thrown'));
    }
  }

  /** There is nobody left whom it could be told if this throws too. */
  #tellError(error: Error): void {
    try {
      this.#handler.onResponseError?.(this, error);
    } catch (thrown) {
      this.#log.callerThrew(
        `the handler of a request has thrown: ${thrown instanceof Error ? thrown.message : thrown}`,
      );
    }
  }

  #finish(error?: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#report?.ended(error);
    clearTimeout(this.#timer);
    this.#connection.letGo();
    this.#onEnd(this);
  }
}

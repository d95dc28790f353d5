import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ConnectionError, RequestError } from '../../errors.ts';
import type { Credential } from '../../exec/exec-credential.ts';
import { printable } from '../../printable.ts';
import type { ClusterLog } from '../transport/cluster-log.ts';
import type { Connection } from '../transport/connection.ts';
import {
  type ClusterFacts,
  cannotBeSent,
  mayGoOutAgain,
  toOwnError,
  wasNotLookedAt,
} from '../transport/connection-errors.ts';
import { hasHeader } from '../transport/headers.ts';
import type { RequestReport } from '../transport/request-report.ts';
import { Caller } from './caller.ts';
import { HeldResponse } from './held-response.ts';
import type { RawHeaders } from './lasting-controller.ts';
import { isLongRunning } from './long-running.ts';
import { ReplayableBody } from './replayable-body.ts';
import { refusalMessage, requestName } from './request-messages.ts';
import { Try, type TryEvents } from './try.ts';

/** How often a request goes out again because its connection was lost. */
const maxResends = 5;

/** Whose request it is: told of its end, and of the socket that an upgrade leaves. */
export interface ExchangeOwner {
  /** Why nothing may be sent at this moment. */
  fence(): Error | undefined;
  ended(exchange: Exchange): void;
  track(socket: Duplex): void;
}

/**
 * One request, from the caller to the end of its answer: the one controller that stays the same while the plugin runs, while the
 * request is on the wire, and when it goes out again, each time as a `Try`.
 */
export class Exchange implements TryEvents, Dispatcher.DispatchController {
  readonly #connection: Connection;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #caller: Caller;
  readonly #body: ReplayableBody;
  /** For errors. */
  readonly #cluster: ClusterFacts;
  readonly #log: ClusterLog;
  readonly #owner: ExchangeOwner;
  readonly #longRunning: boolean;
  #try: Try | undefined;
  #credential: Credential | undefined;
  /** True once the request goes out a second time because of a 401. */
  #replaying = false;
  /** True once the body has to come from what was kept of it. */
  #resend = false;
  #resends = 0;
  /** Since when it has waited for a connection that takes it, while the server has not looked at it. */
  #waitsSince: number | undefined;
  /** True once the caller has seen the beginning of a response. */
  #answered = false;
  #held: HeldResponse | undefined;
  #done = false;
  #paused = false;
  #timer: NodeJS.Timeout | undefined;
  #report: RequestReport | undefined;
  /** What the caller itself ended it with: its abort, or the error of its body. */
  #reason: Error | null = null;

  constructor(
    connection: Connection,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    cluster: ClusterFacts,
    log: ClusterLog,
    owner: ExchangeOwner,
  ) {
    this.#connection = connection;
    this.#cluster = cluster;
    this.#log = log;
    this.#options = options;
    this.#caller = new Caller(handler, this, log);
    this.#owner = owner;
    this.#longRunning = isLongRunning(options, connection.basePath);
    this.#body = new ReplayableBody(options.body, this);
    connection.begin(this);
  }

  /** Sends the request, at once where there is a credential. */
  start(): void {
    // Before the plugin runs: a caller who gives up meanwhile has something to say it to.
    this.#report = this.#connection.reportRequest(this.#options, this.#longRunning);
    this.#caller.started();
    if (this.#done) return;
    const { requestTimeoutMs } = this.#connection;
    if (requestTimeoutMs !== undefined && !this.#longRunning) {
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
      this.#fail(cannotBeSent(error, this.#cluster));
    }
  }

  #sendWith(credential: Credential): void {
    this.#log.hasCredential(this.#connection.source.troubles);
    this.#send(credential);
  }

  #send(credential: Credential | undefined): void {
    if (this.#done) return;
    this.#credential = credential;
    const next = new Try(this, this.#longRunning, this.#paused, this.#waitsSince);
    this.#try = next;
    try {
      const headers = this.#connection.headersFor(this.#options, credential);
      const body = this.#resend ? this.#body.again() : this.#body.first();
      next.send(this.#connection.poolFor(credential), { ...this.#options, headers, body });
    } catch (error) {
      this.#fail(cannotBeSent(error, this.#cluster));
    }
  }

  // What becomes of the try.

  tryStarts(): Error | undefined {
    return this.#owner.fence();
  }

  tryUpgraded(statusCode: number, headers: IncomingHttpHeaders, socket: Duplex): void {
    this.#connection.keep(socket);
    this.#owner.track(socket);
    this.#log.answered();
    // A CONNECT gives its socket whatever the status. It is not sent again, and the next request has the new credential.
    if (!this.#connection.isRejection(statusCode)) this.#accepted();
    else if (this.#credential) {
      this.#connection.refresh(this.#credential, statusCode, headers, this.#log).then((refreshed) => {
        if (!refreshed) this.#refused(statusCode, 'and there is no better one now');
      });
    }
    this.#report?.answered(statusCode);
    this.#finish();
    this.#caller.upgraded(statusCode, headers, socket);
  }

  tryAnswered(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string | undefined): void {
    this.#log.answered();
    if (statusCode < 200) {
      // Early hints and the like: the answer is still to come.
      this.#caller.answered(statusCode, headers, statusMessage);
      return;
    }
    const rejected = this.#connection.isRejection(statusCode);
    if (rejected && this.#credential && !this.#replaying) {
      this.#held = new HeldResponse(statusCode, headers, statusMessage, this.#try?.rawHeaders ?? null);
      // Even where nothing can be replayed the caller waits for it: so the next request has the new credential.
      this.#log.debug(`${requestName(this.#options)} was answered with ${statusCode}: the credential is refreshed`);
      this.#connection
        .refresh(this.#credential, statusCode, headers, this.#log)
        .then((credential) => this.#afterRefresh(credential));
      return;
    }
    if (!rejected) this.#accepted();
    else if (this.#replaying) this.#refused(statusCode, 'and the refreshed one too');
    this.#answer(statusCode, headers, statusMessage);
  }

  tryData(chunk: Buffer): void {
    const held = this.#held;
    if (!held) {
      this.#caller.data(chunk);
      return;
    }
    held.add(chunk);
    if (held.handedOver) this.#deliver(held);
    // Its refresh goes on for the next request.
    else if (held.tooLong) this.#handOver(held);
  }

  tryEnded(trailers: IncomingHttpHeaders): void {
    if (!this.#held) {
      this.#complete(trailers);
      return;
    }
    this.#held.end = { trailers };
    if (this.#held.handedOver) this.#deliver(this.#held);
  }

  tryFailed(error: Error): void {
    const held = this.#held;
    if (held) {
      // The connection broke inside the body of a 401. Before anybody has seen it, what was read of it has to do.
      held.end = held.handedOver ? { error } : { trailers: {} };
      if (held.handedOver) this.#deliver(held);
      return;
    }
    const again = !this.#answered && this.#resends < maxResends && this.#body.replayable;
    if (again && mayGoOutAgain(error, this.#options.method, this.#try?.reused === true)) {
      this.#resends += 1;
      this.#resend = true;
      this.#waitsSince = wasNotLookedAt(error) ? this.#try?.waitsSince : undefined;
      // With the credential of now: the one before may have been replaced while the request waited.
      this.#log.debug(`${requestName(this.#options)} is sent again: ${printable(error.message, 1_024)}`);
      this.#authenticate();
      return;
    }
    this.#fail(error);
  }

  /** When the refresh after a 401 has ended: replay, or hand the 401 to the caller. */
  #afterRefresh(refreshed: Credential | undefined): void {
    const held = this.#held;
    if (this.#done || !held || held.handedOver) return;
    const { statusCode } = held;
    if (!refreshed || !this.#body.replayable) {
      if (!refreshed) this.#refused(statusCode, 'and there is no better one now');
      else this.#log.debug(`${requestName(this.#options)} cannot be sent again: its caller gets the ${statusCode}`);
      this.#handOver(held);
      return;
    }
    this.#log.debug(`${requestName(this.#options)} is sent again, with a new credential`);
    // Nobody needs the rest of the 401, which may never come.
    this.#try?.leave(new RequestError('REQUEST_ABORTED', 'the request goes out with a new credential'));
    this.#held = undefined;
    this.#replaying = true;
    this.#resend = true;
    this.#waitsSince = undefined;
    this.#send(refreshed);
  }

  #handOver(held: HeldResponse): void {
    held.handedOver = true;
    if (this.#paused) this.#try?.pause();
    this.#answer(held.statusCode, held.headers, held.statusMessage);
    this.#deliver(held);
  }

  /** Gives the caller what is held, as fast as it takes it. */
  #deliver(held: HeldResponse): void {
    while (!this.#paused && !this.#done) {
      const chunk = held.take();
      if (chunk) {
        this.#caller.data(chunk);
        continue;
      }
      // The rest goes to the caller as it comes.
      if (!held.end) this.#held = undefined;
      else if ('error' in held.end) this.#fail(held.end.error);
      else this.#complete(held.end.trailers);
      return;
    }
  }

  #answer(statusCode: number, headers: IncomingHttpHeaders, statusMessage: string | undefined): void {
    this.#answered = true;
    this.#report?.answered(statusCode);
    this.#caller.answered(statusCode, headers, statusMessage);
  }

  /** The server has taken what it was sent with. */
  #accepted(): void {
    if (this.#credential) this.#log.accepted();
    if (this.#replaying) this.#connection.accepted();
  }

  /** The server goes on refusing the credential. */
  #refused(statusCode: number, and: string): void {
    const message = refusalMessage(this.#credential, statusCode, and);
    if (message !== undefined) this.#log.rejected(message);
  }

  // What the caller tells us.

  pause(): void {
    this.#paused = true;
    // A 401 that is held is read whatever the caller does, so that its connection goes on.
    if (!this.#held || this.#held.handedOver) this.#try?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#held?.handedOver) this.#deliver(this.#held);
    if (!this.#held && !this.#paused) this.#try?.resume();
  }

  /** What it is sent with ends. */
  end(reason: Error): void {
    this.#fail(reason);
  }

  abort(reason: Error): void {
    if (this.#done) return;
    this.#reason = reason ?? new RequestError('REQUEST_ABORTED', 'the request was aborted');
    this.#fail(this.#reason);
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
    return this.#held ? this.#held.rawHeaders : (this.#try?.rawHeaders ?? null);
  }

  get rawTrailers(): RawHeaders {
    return this.#try?.rawTrailers ?? null;
  }

  /** Ends the exchange with an error; the first one counts. */
  #fail(error: Error): void {
    if (this.#done) return;
    const own = error === this.#reason ? error : toOwnError(error, this.#cluster);
    // That a watch is cut off now and then is no trouble.
    if (!this.#answered || !this.#longRunning) this.#log.failed(own);
    this.#finish(own);
    this.#caller.failed(own);
    this.#try?.leave(own);
  }

  #complete(trailers: IncomingHttpHeaders): void {
    this.#finish();
    this.#caller.ended(trailers);
  }

  #finish(error?: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#report?.ended(error);
    clearTimeout(this.#timer);
    this.#body.close();
    this.#connection.finished(this);
    this.#owner.ended(this);
  }
}

/** Puts the cluster's credential on a request. After a 401 the credential is refreshed, and the request is sent again once. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import type { Credential } from '../../exec/exec-credential.ts';
import { printable } from '../../util/printable.ts';
import { cannotBeSent, wasNotLookedAt } from '../transport/connection-errors.ts';
import { hasHeader, withHeaders } from '../transport/headers.ts';
import { Attempt } from './attempt.ts';
import { BufferedResponse } from './buffered-response.ts';
import type { Layer, OutgoingRequest, RequestOwner } from './layer.ts';
import type { RawHeaders } from './relayed-controller.ts';
import { refusalMessage, requestName } from './request-messages.ts';
import { ResendingHandler } from './resending-handler.ts';
import { isResentAtOnce } from './retry-policy.ts';

type Controller = Dispatcher.DispatchController;

/** The last layer: below it is the pool of the credential's identity. */
export const authorize: Layer = (owner) => (request, handler) => {
  new AuthorizedRequest(owner, request, handler).send();
};

class AuthorizedRequest extends ResendingHandler {
  readonly #owner: RequestOwner;
  readonly #request: OutgoingRequest;
  #credential: Credential | undefined;
  /** It has been sent again because of a 401. */
  #replayed = false;
  /** A 401, while the credential is refreshed. */
  #buffered: BufferedResponse | undefined;

  constructor(owner: RequestOwner, request: OutgoingRequest, handler: Dispatcher.DispatchHandler) {
    super(handler);
    this.#owner = owner;
    this.#request = request;
  }

  send(): void {
    if (!this.start()) return;
    const { refreshing } = this.#request.connection;
    // What cannot be sent a second time waits for a refresh that a 401 has started.
    if (refreshing && this.#request.body.streamed) refreshing.then(() => this.#authenticate());
    else this.#authenticate();
  }

  #authenticate(): void {
    if (this.done) return;
    const { connection, options } = this.#request;
    try {
      // Static credentials win: such a request passes untouched, and runs no plugin.
      if (hasHeader(options.headers, 'authorization')) {
        this.#attempt(undefined);
        return;
      }
      const credential = connection.source.get(this.#owner.log);
      if (credential instanceof Promise) {
        credential.then(
          (value) => this.#attemptWith(value),
          (error: Error) => this.fail(error),
        );
      } else {
        this.#attemptWith(credential);
      }
    } catch (error) {
      this.fail(cannotBeSent(error, this.#owner.cluster));
    }
  }

  #attemptWith(credential: Credential): void {
    this.#owner.log.hasCredential(this.#request.connection.source.warnings);
    this.#attempt(credential);
  }

  #attempt(credential: Credential | undefined): void {
    if (this.done) return;
    const { connection, options, body } = this.#request;
    this.#credential = credential;
    try {
      const headers = this.#headers(credential);
      const pool = credential ? connection.poolFor(credential.keyPair) : connection.poolWithoutIdentity();
      const attempt = new Attempt(this.#request, this, this.#owner.fence);
      attempt.send(pool, { ...options, headers, body: body.next() });
    } catch (error) {
      this.fail(cannotBeSent(error, this.#owner.cluster));
    }
  }

  #headers(credential: Credential | undefined): Record<string, string | string[]> {
    const { headers } = this.#request.options;
    const { cluster, impersonation } = this.#request.connection;
    const authorization = credential?.authorization;
    const ours: Record<string, string | readonly string[]> = authorization === undefined ? {} : { authorization };
    // A caller that impersonates a user itself is not overruled.
    if (!hasHeader(headers, 'impersonate-user')) Object.assign(ours, impersonation);
    if (cluster.disableCompression) ours['accept-encoding'] = 'identity';
    return withHeaders(headers, ours);
  }

  override onRequestUpgrade(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    const { connection } = this.#request;
    if (this.isCurrent(controller)) {
      connection.keep(socket);
      this.#owner.track(socket);
      // A CONNECT gives its socket whatever the status. It is not sent again, and the next request has the new credential.
      if (!connection.isRejection(statusCode)) this.#accepted();
      else if (this.#credential) {
        connection.refresh(this.#credential, statusCode, headers, this.#owner.log).then((refreshed) => {
          if (!refreshed) this.#refused(statusCode, 'and there is no better one now');
        });
      }
    }
    super.onRequestUpgrade(controller, statusCode, headers, socket);
  }

  onResponseStart(
    controller: Controller,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (!this.isCurrent(controller)) return;
    const { connection, options } = this.#request;
    if (statusCode >= 200) {
      const rejected = connection.isRejection(statusCode);
      if (rejected && this.#credential && !this.#replayed) {
        this.#buffered = new BufferedResponse(statusCode, headers, statusMessage, controller.rawHeaders ?? null);
        // The caller waits even where nothing can be replayed: so its next request has the new credential.
        this.#owner.log.debug(`${requestName(options)} was answered with ${statusCode}: the credential is refreshed`);
        connection
          .refresh(this.#credential, statusCode, headers, this.#owner.log)
          .then((credential) => this.#afterRefresh(credential));
        return;
      }
      if (!rejected) this.#accepted();
      else if (this.#replayed) this.#refused(statusCode, 'and the refreshed one too');
    }
    this.respond(statusCode, headers, statusMessage);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (!this.isCurrent(controller)) return;
    const buffered = this.#buffered;
    if (!buffered) {
      this.data(chunk);
      return;
    }
    buffered.add(chunk);
    if (buffered.handedOver) this.#deliver(buffered);
    // Its refresh goes on for the next request.
    else if (buffered.tooLong) this.#handOver(buffered);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (!this.isCurrent(controller)) return;
    const buffered = this.#buffered;
    if (!buffered) {
      this.end(trailers);
      return;
    }
    buffered.end = { trailers };
    if (buffered.handedOver) this.#deliver(buffered);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (!this.isCurrent(controller)) return;
    const buffered = this.#buffered;
    if (!buffered) {
      this.#lost(error);
      return;
    }
    // The connection broke inside the body of a 401. Where the caller has not seen it, what was read of it has to do.
    buffered.end = buffered.handedOver ? { error } : { trailers: {} };
    if (buffered.handedOver) this.#deliver(buffered);
  }

  /** The connection could not carry it. It goes out again at once where the policy says so, with the current credential. */
  #lost(error: Error): void {
    const { options, body } = this.#request;
    if (this.answered || !body.replayable || !isResentAtOnce(this.#request, error)) {
      this.fail(error);
      return;
    }
    this.#owner.log.debug(`${requestName(options)} is sent again: ${printable(error.message, 1_024)}`);
    this.#request.sent += 1;
    // A request that no server has looked at has waited for a connection since its first attempt.
    if (!wasNotLookedAt(error)) this.#request.waitsSince = undefined;
    this.#authenticate();
  }

  /** When the refresh after a 401 has ended: replays the request, or hands the 401 to the caller. */
  #afterRefresh(refreshed: Credential | undefined): void {
    const buffered = this.#buffered;
    if (this.done || !buffered || buffered.handedOver) return;
    const { statusCode } = buffered;
    const name = requestName(this.#request.options);
    if (!refreshed || !this.#request.body.replayable) {
      if (!refreshed) this.#refused(statusCode, 'and there is no better one now');
      else this.#owner.log.debug(`${name} cannot be sent again: its caller gets the ${statusCode}`);
      this.#handOver(buffered);
      return;
    }
    this.#owner.log.debug(`${name} is sent again, with a new credential`);
    // The rest of the 401 may never come.
    this.leave(new RequestError('REQUEST_ABORTED', 'the request goes out with a new credential'));
    this.#buffered = undefined;
    this.#replayed = true;
    this.#request.sent += 1;
    this.#request.waitsSince = undefined;
    this.#attempt(refreshed);
  }

  #handOver(buffered: BufferedResponse): void {
    buffered.handedOver = true;
    if (this.paused) this.wire?.pause();
    this.respond(buffered.statusCode, buffered.headers, buffered.statusMessage);
    this.#deliver(buffered);
  }

  /** Gives the caller what is buffered, as fast as it takes it. */
  #deliver(buffered: BufferedResponse): void {
    while (!this.paused && !this.done) {
      const chunk = buffered.take();
      if (chunk) {
        this.data(chunk);
        continue;
      }
      // The rest goes to the caller as it comes.
      if (!buffered.end) this.#buffered = undefined;
      else if ('error' in buffered.end) this.fail(buffered.end.error);
      else this.end(buffered.end.trailers);
      return;
    }
  }

  /** The server has accepted the credential. */
  #accepted(): void {
    if (this.#credential) this.#owner.log.accepted();
    if (this.#replayed) this.#request.connection.accepted();
  }

  /** The server goes on refusing the credential. */
  #refused(statusCode: number, and: string): void {
    const message = refusalMessage(this.#credential, statusCode, and);
    if (message !== undefined) this.#owner.log.rejected(message);
  }

  override pause(): void {
    super.pause();
    // A buffered 401 is read whatever the caller does, so that its connection goes on.
    if (this.#buffered && !this.#buffered.handedOver) this.wire?.resume();
  }

  override resume(): void {
    const buffered = this.#buffered;
    super.resume();
    if (buffered?.handedOver) this.#deliver(buffered);
  }

  override get rawHeaders(): RawHeaders {
    return this.#buffered ? this.#buffered.rawHeaders : super.rawHeaders;
  }
}

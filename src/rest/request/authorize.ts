/**
 * Puts the credential on each request. After a 401 the credential is refreshed, and the request is replayed once. A request that its
 * connection could not carry goes out again at once, and nothing but the log tells.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '../../errors/index.ts';
import type { Credential } from '../../exec/credential.ts';
import { printable } from '../../util/printable.ts';
import { cannotBeSent, isUnprocessed } from '../transport/connection-errors.ts';
import { type HeaderRecord, type PooledRequest, readHeaders, requestName } from '../transport/wire-request.ts';
import { type Controller, RelayedRequest, type Send } from './layer.ts';
import { isRetriedAtOnce } from './retry.ts';

/** Bytes of a 401's body that are read while the credential is refreshed. */
const bufferLimit = 256 * 1024;

/** A 401 that waits for the refresh: the caller gets it if no better credential comes. */
interface BufferedResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly message: string | undefined;
  readonly chunks: Buffer[];
  size: number;
  /** Present once its body has ended. */
  trailers: IncomingHttpHeaders | undefined;
}

/** The innermost layer: it sends each attempt to the pools of the connection. */
export const authorize: Send = (request, handler) => new AuthorizedRequest(request, handler).begin();

class AuthorizedRequest extends RelayedRequest implements PooledRequest {
  /** The caller's, once they have been read. */
  #headers: HeaderRecord | undefined;
  #credential: Credential | undefined;
  /** It has been sent again because of a 401. */
  #replayed = false;
  #buffered: BufferedResponse | undefined;
  readonly longRunning = this.request.longRunning;
  waitsSince: number | undefined;
  reused = false;

  begin(): void {
    this.start();
    this.#send();
  }

  /** With the refreshed credential, or with the one that the source has. */
  async #send(refreshed?: Credential): Promise<void> {
    const { connection, options, body, owner } = this.request;
    try {
      // What cannot be replayed waits for a refresh that a 401 has started.
      if (body.streamed) await connection.refreshing;
      this.#headers ??= readHeaders(options.headers);
      // A credential of the caller's own wins: such a request passes untouched, and runs no plugin.
      if (this.done || this.#headers.authorization) {
        this.#attempt(undefined);
        return;
      }
      const credential = refreshed ?? connection.source.get(owner.log);
      this.#attempt(credential instanceof Promise ? await credential : credential);
    } catch (error) {
      this.fail(cannotBeSent(error, owner.cluster));
    }
  }

  #attempt(credential: Credential | undefined): void {
    if (this.done) return;
    const { connection, options, body, owner } = this.request;
    if (credential) owner.log.hasCredential(connection.source.warnings);
    this.#credential = credential;
    const headers: HeaderRecord = { ...this.#headers };
    if (credential?.authorization !== undefined) headers.authorization = credential.authorization;
    // A caller that impersonates a user itself is not overruled.
    if (!headers['impersonate-user']) Object.assign(headers, owner.impersonation);
    if (connection.cluster.disableCompression) headers['accept-encoding'] = 'identity';
    connection.pools.send({ ...options, headers, body: body.next() }, this, credential);
  }

  /** The fence is asked when the request is about to be written. */
  override onRequestStart(wire: Controller): void {
    super.onRequestStart(wire);
    const refusal = this.reason ?? this.request.owner.fence?.();
    if (refusal) wire.abort(refusal);
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    if (statusCode >= 200) {
      const { connection, owner } = this.request;
      const rejected = connection.isRejection(statusCode);
      if (rejected && this.#credential && !this.#replayed) {
        const buffered = { statusCode, headers, message, chunks: [], size: 0, trailers: undefined };
        this.#buffered = buffered;
        this.#refresh(this.#credential, buffered);
        return;
      }
      if (rejected && this.#replayed) owner.log.rejected(this.#credential, statusCode, 'and the refreshed one too');
      if (!rejected && this.#credential) owner.log.accepted();
      if (!rejected && this.#replayed) connection.rejections.replayAccepted();
    }
    super.respond(statusCode, headers, message);
  }

  protected override data(chunk: Buffer): void {
    const buffered = this.#buffered;
    if (!buffered) {
      super.data(chunk);
      return;
    }
    // undici may use the memory again.
    buffered.chunks.push(Buffer.from(chunk));
    buffered.size += chunk.length;
    if (buffered.size > bufferLimit) this.inner?.pause();
  }

  protected override complete(trailers: IncomingHttpHeaders): void {
    if (this.#buffered) this.#buffered.trailers = trailers;
    else super.complete(trailers);
  }

  protected override fail(error: Error): void {
    // The connection broke inside the body of a 401: the caller gets what was read of it.
    if (this.#buffered && !this.aborted) this.#buffered.trailers = {};
    else if (this.undecided && this.request.body.replayable && isRetriedAtOnce(this.request, this.reused, error))
      this.#sendAgain(error);
    else super.fail(error);
  }

  #sendAgain(error: Error): void {
    const { options, owner } = this.request;
    owner.log.debug(`${requestName(options)} is sent again: ${printable(error.message, 1_024)}`);
    this.request.sent += 1;
    // A request that no server has processed has waited for a connection since its first attempt.
    if (!isUnprocessed(error)) this.waitsSince = undefined;
    this.detach();
    this.#send();
  }

  /** After a 401: replays the request, or hands the 401 to the caller. */
  async #refresh(rejected: Credential, buffered: BufferedResponse): Promise<void> {
    const { connection, options, body, owner } = this.request;
    const { statusCode, headers } = buffered;
    const { log } = owner;
    const name = requestName(options);
    // The caller waits even if nothing can be replayed: so its next request has the new credential.
    log.debug(`${name} was answered with ${statusCode}: the credential is refreshed`);
    const refreshed = await connection.refresh(rejected, statusCode, headers, log);
    if (this.done) return;
    this.#buffered = undefined;
    if (!refreshed || !body.replayable) {
      if (!refreshed) log.rejected(rejected, statusCode, 'and there is no better one now');
      else log.debug(`${name} cannot be sent again: its caller gets the ${statusCode}`);
      this.#forward(buffered);
      return;
    }
    log.debug(`${name} is sent again, with a new credential`);
    // The rest of the 401 may never come.
    this.detach()?.abort(new RequestError('REQUEST_ABORTED', 'the request goes out with a new credential'));
    this.#replayed = true;
    this.request.sent += 1;
    this.waitsSince = undefined;
    this.#send(refreshed);
  }

  #forward({ statusCode, headers, message, chunks, trailers }: BufferedResponse): void {
    super.respond(statusCode, headers, message);
    for (const chunk of chunks) super.data(chunk);
    if (trailers) super.complete(trailers);
    else if (!this.paused) this.inner?.resume();
  }

  override abort(reason?: Error): void {
    if (this.done) return;
    this.request.connection.pools.forget(this);
    super.abort(reason);
  }
}

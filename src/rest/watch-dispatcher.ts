/**
 * For client-node's Watch and the informers on it, which end at any error. A watch may end at any time, and goes on from its
 * last resourceVersion: so whatever breaks it is the end of the stream, and one that cannot begin is tried again.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Dispatcher } from 'undici';
import { ConnectionError } from '../errors/index.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { Relay } from './request/relay.ts';
import { requestName } from './request/request-messages.ts';
import { isResumed } from './request/retry-policy.ts';

/** Milliseconds until a watch that cannot begin fails with the last error, unless it is aborted before. */
export interface WatchPatience {
  /** One that goes on from a version, as an informer's does: client-node starts it again after 30 s, and ends it at any error. */
  readonly resumedMs: number;
  /** Any other: before client-node gives up after 30 s, and no longer says why. */
  readonly firstMs: number;
  /** Any other whose plugin or server says nothing: as long as it can be, and not longer than client-node's 30 s. */
  readonly silentMs: number;
}
export const defaultPatience: WatchPatience = { resumedMs: 60_000, firstMs: 20_000, silentMs: 28_000 };

/** Whether a URL asks for a watch. */
export function isWatch(url: string): boolean {
  return ['true', '1'].includes(URL.parse(url)?.searchParams.get('watch') ?? '');
}

/** A dispatcher for watches on top of the authenticated one. */
export class WatchDispatcher extends Dispatcher {
  readonly #inner: AuthenticatedDispatcher;
  readonly #patience: WatchPatience;

  constructor(inner: AuthenticatedDispatcher, patience = defaultPatience) {
    super();
    this.#inner = inner;
    this.#patience = patience;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { firstMs, resumedMs, silentMs } = this.#patience;
    const resumed = isResumed(options.path);
    const watch = new WatchRequest(this.#inner, options, handler, resumed ? undefined : silentMs);
    return this.#inner.watch(options, watch, performance.now() + (resumed ? resumedMs : firstMs));
  }
}

class WatchRequest extends Relay {
  readonly #dispatcher: AuthenticatedDispatcher;
  readonly #name: string;
  readonly #silence: NodeJS.Timeout | undefined;
  #began = false;

  /** `silentMs` ends a watch without an answer, before client-node does. An informer goes on only after client-node's own error. */
  constructor(
    dispatcher: AuthenticatedDispatcher,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    silentMs: number | undefined,
  ) {
    super(handler);
    this.#dispatcher = dispatcher;
    this.#name = `watch ${requestName(options).replace('GET ', '')}`;
    if (silentMs !== undefined) this.#silence = setTimeout(() => this.#tooSilent(silentMs), silentMs).unref();
  }

  #tooSilent(silentMs: number): void {
    const { state, log } = this.#dispatcher;
    const message =
      `${this.#name} had no answer in ${silentMs / 1_000} s, and client-node waits for 30 s only ` +
      `(credential: ${state}): see why the plugin, the server or what stands between takes so long`;
    this.abort(new ConnectionError('RESPONSE_TIMEOUT', log.cluster, message));
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    // What comes before the response, such as early hints, is none.
    if (statusCode >= 200) clearTimeout(this.#silence);
    if (statusCode === 200) {
      this.#began = true;
      this.#dispatcher.log.watchBegan();
    }
    super.respond(statusCode, headers, message);
  }

  protected override fail(error: Error): void {
    clearTimeout(this.#silence);
    if (this.#began && !this.aborted && !this.#dispatcher.ended) {
      this.#dispatcher.log.debug(`${this.#name} broke off (${error.message}); the watch ends`);
      this.complete({});
    } else {
      super.fail(error);
    }
  }
}

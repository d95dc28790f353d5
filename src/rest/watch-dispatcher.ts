/**
 * For client-node's Watch and the informers on it, which end at any error. A watch may end at any time, and continues from its
 * last resourceVersion: so an error ends the stream normally, and a watch that cannot begin is retried.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Dispatcher } from 'undici';
import { ConnectionError } from '../errors/index.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { requestName } from './request/layer.ts';
import { Relay } from './request/relay.ts';
import { isResumed } from './request/retry.ts';

/** Milliseconds until a watch that has not begun fails with the reason: client-node gives up after 30 s, and no longer says why. */
export const defaultPatienceMs = 28_000;

/** Whether a URL asks for a watch. */
export function isWatch(url: string): boolean {
  return ['true', '1'].includes(URL.parse(url)?.searchParams.get('watch') ?? '');
}

/** A dispatcher for watches on top of the authenticated one. */
export class WatchDispatcher extends Dispatcher {
  readonly #inner: AuthenticatedDispatcher;
  readonly #patienceMs: number;

  constructor(inner: AuthenticatedDispatcher, patienceMs = defaultPatienceMs) {
    super();
    this.#inner = inner;
    this.#patienceMs = patienceMs;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    // A watch that continues from a version is an informer's, which continues only after client-node's own timeout.
    const patienceMs = isResumed(options.path) ? undefined : this.#patienceMs;
    const watch = new WatchRequest(this.#inner, options, handler, patienceMs);
    return this.#inner.watch(options, watch, performance.now() + (patienceMs ?? Number.POSITIVE_INFINITY));
  }
}

class WatchRequest extends Relay {
  readonly #dispatcher: AuthenticatedDispatcher;
  readonly #name: string;
  readonly #silence: NodeJS.Timeout | undefined;
  #began = false;

  /** A watch without an answer ends after `patienceMs`. */
  constructor(
    dispatcher: AuthenticatedDispatcher,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    patienceMs: number | undefined,
  ) {
    super(handler);
    this.#dispatcher = dispatcher;
    this.#name = `watch ${requestName(options).replace('GET ', '')}`;
    if (patienceMs !== undefined) this.#silence = setTimeout(() => this.#tooSilent(patienceMs), patienceMs).unref();
  }

  #tooSilent(ms: number): void {
    const { state, log } = this.#dispatcher;
    const message =
      `${this.#name} had no answer in ${ms / 1_000} s, and client-node waits for 30 s only ` +
      `(credential: ${state}): check why the plugin, the server or a proxy in between takes so long`;
    this.abort(new ConnectionError('RESPONSE_TIMEOUT', log.cluster, message));
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    // Informational responses, such as early hints, come before it.
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

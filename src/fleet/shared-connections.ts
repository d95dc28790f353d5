/**
 * client-node makes a dispatcher for each request, and so a connection. Here the requests of a KubeConfig share one dispatcher,
 * for as long as what it is made of stays the same.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeConfig, RequestContext } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';

type Config = Pick<KubeConfig, 'applySecurityAuthentication'> & Partial<Pick<KubeConfig, 'createDispatcherOptions'>>;

class SharedConnections {
  readonly #config: Config;
  #known: { readonly madeOf: unknown; readonly dispatcher: Dispatcher } | undefined;

  constructor(config: Config) {
    this.#config = config;
  }

  /** Puts a credential on the request. Resolves with what is to send it; `undefined`: undici's own. */
  async authenticate(context: RequestContext): Promise<Dispatcher | undefined> {
    const config = this.#config;
    let madeOf: unknown;
    const createDispatcherOptions: KubeConfig['createDispatcherOptions'] = (cluster, options) => {
      const made = config.createDispatcherOptions?.(cluster, options) ?? { type: 'none' };
      madeOf = made;
      return this.#dispatcherOf(made) ? { type: 'none' } : made;
    };
    // The caller's own stays as it is.
    const asked: Config = Object.create(config, { createDispatcherOptions: { value: createDispatcherOptions } });
    await asked.applySecurityAuthentication(context);
    // Another request may have been faster.
    const shared = madeOf === undefined ? undefined : this.#dispatcherOf(madeOf);
    if (shared) return shared;
    const dispatcher = context.getDispatcher();
    if (dispatcher && madeOf !== undefined) this.#keep(madeOf, dispatcher);
    return dispatcher;
  }

  /** A request of this dispatcher has failed. Its peer may be dead, and nothing else shows that: the next one connects anew. */
  failed(dispatcher: Dispatcher): void {
    if (this.#known?.dispatcher !== dispatcher) return;
    this.#known = undefined;
    closeLater(dispatcher);
  }

  #dispatcherOf(madeOf: unknown): Dispatcher | undefined {
    return isDeepStrictEqual(this.#known?.madeOf, madeOf) ? this.#known?.dispatcher : undefined;
  }

  #keep(madeOf: unknown, dispatcher: Dispatcher): void {
    const before = this.#known?.dispatcher;
    this.#known = { madeOf, dispatcher };
    if (before) closeLater(before);
  }
}

/** Requests that have it already are sent before. It waits for their answers. */
function closeLater(dispatcher: Dispatcher): void {
  setImmediate(() => dispatcher.close().catch(() => undefined));
}

const shared = new WeakMap<object, SharedConnections>();

/** The connections of a KubeConfig, the same for whoever asks. */
export function connectionsOf(config: Config): SharedConnections {
  const known = shared.get(config) ?? new SharedConnections(config);
  shared.set(config, known);
  return known;
}

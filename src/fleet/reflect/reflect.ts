/** The reflector alone, for any KubeConfig. */
import type { KubeConfig } from '@kubernetes/client-node';
import { defaultLogger, type Logger, safeLogger } from '../../logger.ts';
import { ApiServer } from '../api-server.ts';
import { type Clock, systemClock } from '../clock.ts';
import { Discovery } from '../discovery.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import type { ReflectorEvent } from './events.ts';
import { type ReflectedResource, Reflector, type ReflectorRestart } from './reflector.ts';

/** Options of `reflect`. */
export interface ReflectOptions extends ReflectedResource {
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Told of each failure, and of how long it waits. */
  readonly onRestart?: (restart: ReflectorRestart) => void;
  /** Default: warnings go to stderr. */
  readonly logger?: Logger;
  /** For tests. */
  readonly clock?: Clock;
}

/**
 * Lists and watches one resource, for ever: `Init`, an `InitApply` for each object, `InitDone`, then `Apply` and `Delete`; after
 * an expired version the same again. Every failure is waited out. Ends when `signal` aborts or the loop is left. Nothing is
 * buffered for who reads slowly: the server waits, and after a while ends the watch, which then goes on.
 *
 * @example
 * for await (const event of reflect<Wire<V1Pod>>(config, { apiVersion: 'v1', kind: 'Pod', signal })) console.log(event.type);
 */
export async function* reflect<T extends KubernetesObject = KubernetesObject>(
  config: KubeConfig,
  { signal, onRestart, logger = defaultLogger, clock = systemClock, ...resource }: ReflectOptions,
): AsyncGenerator<ReflectorEvent<T>, void> {
  const server = new ApiServer(config);
  const context = {
    server,
    discovery: new Discovery(server, clock),
    clock,
    logger: safeLogger(logger),
    fields: { server: server.url },
    random: Math.random,
  };
  const left = new AbortController();
  const stop = () => left.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const reflector = new Reflector<T>(resource, context, onRestart ? { restarts: onRestart } : {});
    for await (const events of reflector.run(left.signal)) yield* events;
  } finally {
    signal?.removeEventListener('abort', stop);
    left.abort();
  }
}

/** The reflector alone, for any KubeConfig. */
import type { KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { checkArgument, isSignal } from '../../argument.ts';
import type { Logger } from '../../logger.ts';
import { parseOptionsWith, sharedOptions } from '../../option-schemas.ts';
import { ApiServer } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import { Discovery } from '../discovery.ts';
import { shownServer } from '../guard.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { clock, functionOf, isKubeConfig, kubeConfigWords, resourceShape } from '../option-schemas.ts';
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

const schema = z.strictObject({
  ...resourceShape,
  signal: z.custom<AbortSignal>(isSignal, { error: 'must be an AbortSignal' }).optional(),
  onRestart: functionOf<(restart: ReflectorRestart) => void>('that takes a restart').optional(),
  logger: sharedOptions.logger,
  clock,
});

/**
 * Lists and watches one resource, for ever: `Init`, an `InitApply` for each object, `InitDone`, then `Apply` and `Delete`; after
 * an expired version the same again. Every failure is waited out. Ends when `signal` aborts or the loop is left. Nothing is
 * buffered for who reads slowly: the server waits, and after a while ends the watch, which then goes on. Throws a
 * `ConfigurationError` that names every bad option.
 *
 * @example
 * for await (const event of reflect<Wire<V1Pod>>(config, { apiVersion: 'v1', kind: 'Pod', signal })) console.log(event.type);
 */
export function reflect<T extends KubernetesObject = KubernetesObject>(
  config: KubeConfig,
  options: ReflectOptions,
): AsyncGenerator<ReflectorEvent<T>, void> {
  checkArgument('reflect', 'config', config, isKubeConfig, kubeConfigWords);
  return reflected<T>(config, parseOptionsWith(schema, options));
}

async function* reflected<T extends KubernetesObject>(
  config: KubeConfig,
  { signal, onRestart, logger, clock, ...resource }: z.output<typeof schema>,
): AsyncGenerator<ReflectorEvent<T>, void> {
  const server = new ApiServer(config);
  const context = {
    server,
    discovery: new Discovery(server, clock),
    clock,
    logger,
    fields: { server: shownServer(server.url) },
    random: Math.random,
  };
  const left = new AbortController();
  const stop = () => left.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const asked = resource as ReflectedResource; // what is absent may also be there as undefined
    const reflector = new Reflector<T>(asked, context, onRestart ? { restarts: onRestart } : {});
    for await (const events of reflector.run(left.signal)) yield* events;
  } finally {
    signal?.removeEventListener('abort', stop);
    left.abort();
  }
}

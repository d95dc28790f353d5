/** The public function `reflect`: a reflector without a cache. */
import { z } from 'zod';
import { checkArgument } from '../../errors/index.ts';
import type { Logger } from '../../observability/logger.ts';
import { parseOptionsWith, sharedOptions, signal } from '../../options/option-schemas.ts';
import { ApiServer } from '../../rest/api/api-server.ts';
import type { KindOf, KubernetesObject, TypeOf } from '../../rest/api/kubernetes-object.ts';
import type { RestConfig } from '../../rest/rest-config.ts';
import type { Clock } from '../clock.ts';
import { clock, functionOf, isRestConfig, resourceShape, restConfigWords } from '../option-schemas.ts';
import type { ReflectorEvent } from './events.ts';
import { type ReflectedResource, Reflector, type ReflectorRestart } from './reflector.ts';

/** Options of `reflect`. */
export interface ReflectOptions extends ReflectedResource {
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
  /** Called at each failure, with the time until the next attempt. */
  readonly onRestart?: ((restart: ReflectorRestart) => void) | undefined;
  /**
   * Receives log lines.
   * @default warnings go to stderr
   */
  readonly logger?: Logger | undefined;
  /** @internal For tests. */
  readonly clock?: Clock;
}

const schema = z.strictObject({
  ...resourceShape,
  signal,
  onRestart: functionOf<(restart: ReflectorRestart) => void>('that takes a restart').optional(),
  logger: sharedOptions.logger,
  clock,
});

/**
 * Lists and watches one resource: `Init`, an `InitApply` for each object, `InitDone`, then `Apply` and `Delete`. It lists again when
 * a version has expired, retries every failure with backoff, and ends when `signal` aborts or you leave the loop. It buffers nothing
 * for a slow reader: the server waits, and ends the watch after a while, which is then resumed.
 *
 * @throws {ConfigurationError} that names every bad option
 * @example
 * for await (const event of reflect(config, { apiVersion: 'v1', kind: 'Pod', signal })) console.log(event.type);
 */
export function reflect<
  T extends KubernetesObject = never,
  const A extends string = string,
  const K extends string = string,
  const M extends boolean = boolean,
>(
  config: RestConfig,
  options: ReflectOptions & KindOf<A, K, M>,
): AsyncGenerator<ReflectorEvent<TypeOf<T, A, K, M>>, void> {
  checkArgument('reflect', 'config', config, isRestConfig, restConfigWords);
  const settings = parseOptionsWith(schema, options);
  return reflected<TypeOf<T, A, K, M>>(config, settings);
}

async function* reflected<T extends KubernetesObject>(
  config: RestConfig,
  { signal, onRestart, logger, clock, ...resource }: z.output<typeof schema>,
): AsyncGenerator<ReflectorEvent<T>, void> {
  const server = new ApiServer(config, clock);
  const context = { server, clock, logger, fields: { server: server.url } };
  const asked = resource as ReflectedResource; // absent fields may also be undefined
  const reflector = new Reflector<T>(asked, context, onRestart ? { restarted: onRestart } : {});
  for await (const events of reflector.run(signal ?? new AbortController().signal)) yield* events;
}

/** Changes of the objects of one kind, as a fleet sees them, without a RestConfig. */
import { systemClock } from '../fleet/clock.ts';
import type { ReflectorEvent } from '../fleet/reflect/events.ts';
import { type ReflectedResource, Reflector } from '../fleet/reflect/reflector.ts';
import { ApiServer } from '../rest/api/api-server.ts';
import { Discovery } from '../rest/api/discovery.ts';
import type { KubernetesObject } from '../rest/api/kubernetes-object.ts';
import type { ApiClient } from './api-client.ts';

/** Runs until the signal aborts: retries every failure with backoff, and passes it to `warn`. */
export function watchResource<T extends KubernetesObject>(
  client: ApiClient,
  resource: ReflectedResource,
  warn: (message: string) => void,
  signal: AbortSignal,
): AsyncIterable<readonly ReflectorEvent<T>[]> {
  const server = new ApiServer(client.config);
  const context = {
    server,
    discovery: new Discovery(server, systemClock),
    clock: systemClock,
    logger: { warn: (_fields: object, message: string) => warn(message) },
    fields: {},
    random: Math.random,
  };
  return new Reflector<T>(resource, context).run(signal);
}

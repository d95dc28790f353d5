/** What is looked at of options, wherever they come in. */
import { z } from 'zod';
import { warnOnStderr } from '../logger.ts';
import { isFunction } from '../option-schemas.ts';
import { type Clock, safeFleetClock, systemClock } from './clock.ts';

export const text = (what: string) => z.string({ error: `must be ${what}` }).min(1, { error: `must be ${what}` });
export const functionOf = <T = never>(what: string) => z.custom<T>(isFunction, { error: `must be a function ${what}` });

export const clock = z
  .custom<Clock>((value) => ['now', 'uptime', 'after'].every((name) => isFunction(Object(value)[name])), {
    error: 'must be an object with functions now, uptime and after',
  })
  .transform((given) => safeFleetClock(given, warnOnStderr))
  .default(systemClock);

/** What is listed and watched. */
export const resourceShape = {
  apiVersion: text('v1, or group/version'),
  kind: text('a kind, for example Pod'),
  namespace: text('the name of a namespace').optional(),
  labelSelector: z.string({ error: 'must be a label selector' }).optional(),
  fieldSelector: z.string({ error: 'must be a field selector' }).optional(),
  keepManagedFields: z.boolean({ error: 'must be true or false' }).optional(),
};

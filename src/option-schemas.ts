/** What the options of clusters and of images have in common. */
import { z } from 'zod';
import { longestMs } from './access/duration.ts';
import { nearest } from './access/nearest.ts';
import { isFunction } from './argument.ts';
import { safeClock } from './callbacks.ts';
import { ConfigurationError } from './errors.ts';
import { defaultMaxConcurrentRuns } from './exec/run-limit.ts';
import { defaultLogger, type Logger, safeLogger, warnOnStderr } from './logger.ts';

export const milliseconds = (least: number) => {
  const error = `must be milliseconds from ${least} to ${longestMs}`;
  return z.number({ error }).min(least, { error }).max(longestMs, { error });
};
export const flag = z.boolean({ error: 'must be true or false' }).default(false);

function isLogger(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const [warn, ...others] = ['warn', 'info', 'debug'].map((level): unknown => Reflect.get(value, level));
  return isFunction(warn) && others.every((other) => other === undefined || isFunction(other));
}

export const sharedOptions = {
  timeoutMs: milliseconds(1).default(60_000),
  maxConcurrentRuns: z
    .int({ error: 'must be a whole number of 1 or more' })
    .min(1, { error: 'must be a whole number of 1 or more' })
    .default(defaultMaxConcurrentRuns),
  strictPluginFiles: flag,
  logger: z
    .custom<Logger>(isLogger, {
      error: 'must be an object with a function warn(fields, message), and where they are there info and debug like it',
    })
    .transform(safeLogger)
    .default(defaultLogger),
  clock: z
    .custom<() => number>(isFunction, { error: 'must be a function that returns milliseconds since 1970' })
    .transform((clock) => safeClock(clock, warnOnStderr))
    .default(() => Date.now),
};

/** Every option with its default. Throws a `ConfigurationError` that names each bad one. */
export function parseOptionsWith<T extends z.ZodObject>(schema: T, options: unknown): z.output<T> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const known = Object.keys(schema.shape);
  const problems = parsed.error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }];
    return issue.keys.map((key) => {
      const meant = nearest(key, known);
      const hint = meant ? ` (did you mean ${meant}?)` : `; known are ${known.join(', ')}`;
      return { path: key, message: `is not an option${hint}` };
    });
  });
  throw new ConfigurationError('OPTION_INVALID', 'options', problems);
}

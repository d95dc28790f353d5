/** What the options of clusters and of images have in common. */
import { z } from 'zod';
import { longestMs } from './access/duration.ts';
import { fieldPath } from './access/field-path.ts';
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
  const problems = parsed.error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: fieldPath(issue.path), message: issue.message }];
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => {
      const meant = nearest(key, known);
      const hint = meant ? ` (did you mean ${meant}?)` : known.length > 0 ? `; known are ${known.join(', ')}` : '';
      return { path: fieldPath([...issue.path, key]), message: `is not an option${hint}` };
    });
  });
  // Two checks of one value may say the same.
  const distinct = new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem]));
  throw new ConfigurationError('OPTION_INVALID', 'options', [...distinct.values()]);
}

/** The options that an object of options, or one inside it, can have. */
function keysAt(schema: z.ZodObject, path: readonly PropertyKey[]): readonly string[] {
  const found = unwrapped(path.reduce<unknown>(inside, schema));
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function inside(schema: unknown, key: PropertyKey): unknown {
  const outer = unwrapped(schema);
  if (outer instanceof z.ZodObject) return outer.shape[String(key)];
  return outer instanceof z.ZodArray ? outer.element : undefined;
}

/** What a caller may give, without what is made of it. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return unwrapped(schema.unwrap());
  return schema instanceof z.ZodPipe ? unwrapped(schema.in) : schema;
}

/** The options that clusters and images share. */
import { z } from 'zod';
import { longestMs } from '../access/duration.ts';
import { schemaProblems } from '../access/schema-problems.ts';
import { isFunction } from '../errors/check-argument.ts';
import { ConfigurationError } from '../errors/index.ts';
import { defaultMaxConcurrentRuns } from '../exec/run-limit.ts';
import { defaultLogger, type Logger, safeLogger } from '../observability/logger.ts';

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
    .default(() => Date.now),
};

/**
 * Returns every option with its default.
 * @throws {ConfigurationError} that names each bad option
 */
export function parseOptionsWith<T extends z.ZodObject>(schema: T, options: unknown): z.output<T> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error, { what: 'an option', known: (path) => keysAt(schema, path) });
  // Two checks of one value may report the same problem.
  const distinct = new Map(problems.map(({ path, message }) => [`${path} ${message}`, { path, message }]));
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

/** The input of a schema, before its transforms. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return unwrapped(schema.unwrap());
  return schema instanceof z.ZodPipe ? unwrapped(schema.in) : schema;
}

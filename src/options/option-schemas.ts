/** The options that clusters and images share. */
import { z } from 'zod';
import { mustBe, schemaProblems } from '../access/schema-problems.ts';
import { ConfigurationError } from '../errors/index.ts';
import { defaultMaxConcurrentPlugins } from '../exec/run-limit.ts';
import { defaultLogger, type Logger, safeLogger } from '../observability/logger.ts';
import { longestMs } from '../util/abortable.ts';
import { isFunction, isSignal } from '../util/guards.ts';
import { isLabel } from '../util/hosts.ts';

export const milliseconds = (least: number) => {
  const error = `must be milliseconds from ${least} to ${longestMs}`;
  return z.number({ error }).min(least, { error }).max(longestMs, { error });
};
const atLeastOne = { error: 'must be a whole number of 1 or more' };
export const wholeNumber = z.int(atLeastOne).min(1, atLeastOne);
export const text = (what: string) => z.string(mustBe(what)).min(1, mustBe(what));
export const nameOf = (what: string, isName: (text: string) => boolean, rule: string) =>
  z.string(mustBe(what)).refine(isName, mustBe(`${what}: ${rule}`));
export const namespace = nameOf(
  'the name of a namespace',
  isLabel,
  'lower case letters, digits and -, 63 characters at most',
);
export const signal = z.custom<AbortSignal>(isSignal, { error: 'must be an AbortSignal' }).optional();
export const flag = z.boolean({ error: 'must be true or false' }).default(false);

function isLogger(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const [warn, ...others] = ['warn', 'info', 'debug'].map((level): unknown => Reflect.get(value, level));
  return isFunction(warn) && others.every((other) => other === undefined || isFunction(other));
}

/** A kind of objects and, if it matters, a namespace. */
export const kindShape = {
  apiVersion: text('v1, or group/version'),
  kind: text('a kind, for example Pod'),
  namespace: namespace.optional(),
};

export const sharedOptions = {
  pluginTimeoutMs: milliseconds(1).default(60_000),
  maxConcurrentPlugins: wholeNumber.default(defaultMaxConcurrentPlugins),
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
  const known = (path: readonly PropertyKey[]) => (path.length === 0 ? Object.keys(schema.shape) : []);
  const problems = schemaProblems(parsed.error, { what: 'an option', known });
  // Two checks of one value may report the same problem.
  const distinct = new Map(problems.map(({ path, message }) => [`${path} ${message}`, { path, message }]));
  throw new ConfigurationError('OPTION_INVALID', 'options', [...distinct.values()]);
}

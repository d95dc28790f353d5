/** For callers without types: a wrong argument is an error that names it, not a TypeError from deep inside. */
import { ConfigurationError } from './index.ts';

/** The type of a value for messages, without the value. */
export function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isString = (value: unknown): value is string => typeof value === 'string';
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
export const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isString);
export const isFunction = (value: unknown) => typeof value === 'function';
/** Whether `new` accepts it. Calls nothing. */
export function isClass(value: unknown): boolean {
  if (typeof value !== 'function') return false;
  try {
    Reflect.construct(Object, [], value);
    return true;
  } catch {
    return false;
  }
}
/** Also accepts a signal of another realm (a `vm` context, a test environment). */
export const isSignal = (value: unknown): value is AbortSignal =>
  isObject(value) &&
  isFunction(Reflect.get(value, 'throwIfAborted')) &&
  isFunction(Reflect.get(value, 'addEventListener'));

/**
 * @param where - the function
 * @param what - the words after "must be"
 * @throws {ConfigurationError} `OPTION_INVALID` unless `isRight`
 */
export function checkArgument(
  where: string,
  name: string,
  value: unknown,
  isRight: (value: unknown) => boolean,
  what: string,
): void {
  if (isRight(value)) return;
  throw new ConfigurationError('OPTION_INVALID', where, [
    { path: name, message: `must be ${what}, and is ${value === '' ? 'empty' : kindOf(value)}` },
  ]);
}

/**
 * Returns the signal of `{ signal }`.
 * @throws {ConfigurationError} `OPTION_INVALID` if it is not one
 */
export function signalOf(
  where: string,
  options: { readonly signal?: AbortSignal | undefined },
): AbortSignal | undefined {
  checkArgument(where, 'options', options, isObject, 'an object: { signal }');
  const { signal } = options;
  checkArgument(where, 'signal', signal, (value) => value === undefined || isSignal(value), 'an AbortSignal');
  return signal;
}

/** For callers without types: an argument of a wrong type is an error that names it, not a TypeError from somewhere inside. */
import { ConfigurationError } from './errors.ts';

/** For messages: the kind of a value, and nothing of the value. */
export function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isString = (value: unknown): value is string => typeof value === 'string';
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
export const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isString);
export const isFunction = (value: unknown) => typeof value === 'function';
/** Whether `new` takes it: nothing of it is called. */
export function isClass(value: unknown): boolean {
  if (typeof value !== 'function') return false;
  try {
    Reflect.construct(Object, [], value);
    return true;
  } catch {
    return false;
  }
}
/** One of another realm (a `vm` context, a test environment) is taken too. */
export const isSignal = (value: unknown): value is AbortSignal =>
  isObject(value) &&
  isFunction(Reflect.get(value, 'throwIfAborted')) &&
  isFunction(Reflect.get(value, 'addEventListener'));

/** Throws a `ConfigurationError` (`OPTION_INVALID`) unless it is right. `where` is the function, `what` the words after "must be". */
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

/** The signal of `{ signal }`. Throws as above. */
export function signalOf(
  where: string,
  options: { readonly signal?: AbortSignal | undefined },
): AbortSignal | undefined {
  checkArgument(where, 'options', options, isObject, 'an object: { signal }');
  const { signal } = options;
  checkArgument(where, 'signal', signal, (value) => value === undefined || isSignal(value), 'an AbortSignal');
  return signal;
}

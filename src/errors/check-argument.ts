/** For callers without types: a wrong argument is an error that names it, not a TypeError from deep inside. */
import { isObject, isSignal, kindOf } from '../util/guards.ts';
import { ConfigurationError } from './credentials-error.ts';

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
  const message = `must be ${what}, and is ${value === '' ? 'empty' : kindOf(value)}`;
  throw new ConfigurationError('OPTION_INVALID', where, [{ path: name, message }]);
}

/** Returns the signal of `{ signal }`. @throws {ConfigurationError} `OPTION_INVALID` if it is not one */
export function signalOf(where: string, options: { readonly signal?: AbortSignal | undefined }) {
  checkArgument(where, 'options', options, isObject, 'an object: { signal }');
  const { signal } = options;
  checkArgument(where, 'signal', signal, (value) => value === undefined || isSignal(value), 'an AbortSignal');
  return signal;
}

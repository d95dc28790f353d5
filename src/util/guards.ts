/** What a value is, for arguments and data that have no types yet. */

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

/** What a value of unknown type is, or a text of unknown content, and the code of an error. */

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
/** Also accepts a signal of another realm (a `vm` context, a test environment). */
export const isSignal = (value: unknown): value is AbortSignal =>
  isObject(value) &&
  isFunction(Reflect.get(value, 'throwIfAborted')) &&
  isFunction(Reflect.get(value, 'addEventListener'));

/** The value of a JSON text; `undefined` if it is not JSON. A parser's error may quote the text, in which there may be secrets. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The code of an error, or of its first cause with one, as a log field: `PLUGIN_TIMEOUT`, `ECONNREFUSED`. Empty if there is none. */
export function codeFieldOf(error: unknown): { readonly code?: string } {
  try {
    let one = error;
    for (let depth = 0; depth < 8 && one instanceof Error; depth++, one = one.cause) {
      if ('code' in one && typeof one.code === 'string' && /^[A-Z][A-Z\d_]{1,50}$/.test(one.code))
        return { code: one.code };
    }
  } catch {
    // The properties of a caller's error may throw.
  }
  return {};
}

/** The code of an operating system's error (`ENOENT`), for messages: its own message may quote arguments. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

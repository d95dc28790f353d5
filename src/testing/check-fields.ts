/** For callers without types: a wrong option of a fake is a TypeError that names it, not one from somewhere inside. */
import { isFunction, isObject, isString, isTexts, kindOf } from '../argument.ts';

const kinds = {
  'a text': isString,
  'a list of texts': isTexts,
  'a list': (value: unknown) => Array.isArray(value),
  'a number': (value: unknown) => typeof value === 'number',
  'a Date': (value: unknown) => value instanceof Date,
  'an object': isObject,
  'a function': isFunction,
  'true or false': (value: unknown) => typeof value === 'boolean',
};

export type Kind = keyof typeof kinds;

/** Throws a `TypeError` for what is no object, for an unknown field, and for one that is there and of another kind. */
export function checkFields(where: string, given: unknown, fields: Readonly<Record<string, Kind>>): void {
  if (!isObject(given)) throw new TypeError(`${where}: its options must be an object, not ${kindOf(given)}`);
  for (const [name, value] of Object.entries(given)) {
    const kind = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (kind === undefined) {
      throw new TypeError(`${where}: ${name} is no option; known are ${Object.keys(fields).join(', ')}`);
    }
    if (value !== undefined) checkKind(`${where}: ${name}`, value, kind);
  }
}

export function checkKind(name: string, value: unknown, kind: Kind): void {
  if (!kinds[kind](value)) throw new TypeError(`${name} must be ${kind}, not ${kindOf(value)}`);
}

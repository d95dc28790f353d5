/** ConfigMaps and Secrets: their keys, what their values are, and how large they are. */

import { equal, isObject, type Json, type JsonObject, without } from './json.ts';
import type { GivenObject } from './objects.ts';
import { badRequest, type Cause, cause } from './status.ts';

const mostBytes = 1024 * 1024;
const base64 = /^[A-Za-z0-9+/\r\n]*={0,2}$/;

const entriesOf = (value: Json | undefined) => Object.entries(isObject(value) ? value : {});

const unreadable = (kind: string, what: string) =>
  badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${what}`);

function checkTexts(kind: string, field: string, values: Json | undefined, isBase64: boolean): void {
  if (values !== undefined && !isObject(values)) throw unreadable(kind, `${field} is not an object`);
  for (const [key, value] of entriesOf(values)) {
    if (typeof value !== 'string') throw unreadable(kind, `${field}.${key} is not a string`);
    if (isBase64 && !base64.test(value)) throw unreadable(kind, `${field}.${key} is not base64`);
  }
}

/** Throws a 400 for values that are not text. */
export function readConfigMap(object: GivenObject): GivenObject {
  checkTexts('ConfigMap', 'data', object.data, false);
  checkTexts('ConfigMap', 'binaryData', object.binaryData, true);
  return object;
}

/** `stringData` is written and never read. */
export function readSecret({ stringData, ...object }: GivenObject): GivenObject {
  checkTexts('Secret', 'data', object.data, true);
  checkTexts('Secret', 'stringData', stringData, false);
  const texts = entriesOf(stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
  const data = Object.fromEntries([...entriesOf(object.data), ...texts]);
  const type = object.type === undefined || object.type === '' ? 'Opaque' : object.type;
  const kept = Object.keys(data).length === 0 ? undefined : data;
  return { ...without({ ...object, data: kept, type }), metadata: object.metadata };
}

function keyProblems(field: string, values: Json | undefined): readonly Cause[] {
  return entriesOf(values).flatMap(([key]) => {
    const good = /^[-._a-zA-Z0-9]{1,253}$/.test(key) && key !== '.' && !key.startsWith('..');
    const detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    return good ? [] : [cause.invalid(`${field}[${key}]`, key, detail)];
  });
}

const sizeOf = (values: Json | undefined, encoding: 'utf8' | 'base64') =>
  entriesOf(values).reduce((size, [, value]) => size + Buffer.byteLength(String(value), encoding), 0);

export function configMapProblems(object: GivenObject, before: GivenObject | undefined): readonly Cause[] {
  const { data, binaryData } = object;
  const size = sizeOf(data, 'utf8') + sizeOf(binaryData, 'base64');
  return [
    ...keyProblems('data', data),
    ...keyProblems('binaryData', binaryData),
    ...(size > mostBytes ? [cause.tooLong('[]', mostBytes)] : []),
    ...immutableProblems(object, before, ['data', 'binaryData']),
  ];
}

export function secretProblems(object: GivenObject, before: GivenObject | undefined): readonly Cause[] {
  const { data } = object;
  const changed =
    before && before.type !== object.type ? [cause.invalid('type', object.type, 'field is immutable')] : [];
  return [
    ...changed,
    ...keyProblems('data', data),
    ...(sizeOf(data, 'base64') > mostBytes ? [cause.tooLong('data', mostBytes)] : []),
    ...immutableProblems(object, before, ['data']),
  ];
}

/** Refuses to change the data of an immutable object, or to make it mutable. */
function immutableProblems(
  object: JsonObject,
  before: JsonObject | undefined,
  fields: readonly string[],
): readonly Cause[] {
  if (before?.immutable !== true) return [];
  const message = 'field is immutable when `immutable` is set';
  return [
    ...(object.immutable === true ? [] : [cause.forbidden('immutable', message)]),
    ...fields.filter((field) => !equal(object[field], before[field])).map((field) => cause.forbidden(field, message)),
  ];
}

/** ConfigMaps and Secrets: what their values are. */

import { isObject, type Json, without } from './json.ts';
import type { GivenObject } from './objects.ts';
import { badRequest } from './status.ts';

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

/** What single kinds do with their objects beyond what all do: defaults and derived fields. */

import { type Json, valueAt, withValueAt } from './json.ts';
import { readConfigMap, readSecret } from './kind-data.ts';
import { type GivenObject, withMeta } from './objects.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';
import { badRequest } from './status.ts';

interface KindRules {
  /** Reads what a client sends, with the defaults of the kind. Throws a 400 for what it cannot read. */
  readonly read?: (object: GivenObject) => GivenObject;
  /** Puts an object into the form in which it is kept. */
  readonly prepare?: (object: GivenObject) => GivenObject;
}

const rules: Readonly<Record<string, KindRules>> = {
  'namespaces.': { prepare: prepareNamespace },
  'secrets.': { read: readSecret },
  'configmaps.': { read: readConfigMap },
  'leases.coordination.k8s.io': { read: readLease },
};

/** An object as its kind reads it. Throws a 400. */
export function readKind(type: ResourceType, object: GivenObject): GivenObject {
  return rules[storageKeyOf(type)]?.read?.(object) ?? object;
}

/** The object in the form in which it is kept. Its status is not looked at. */
export function prepareKind(type: ResourceType, object: GivenObject): GivenObject {
  return rules[storageKeyOf(type)]?.prepare?.(object) ?? object;
}

function prepareNamespace(object: GivenObject): GivenObject {
  const { name = '', labels } = object.metadata;
  return withMeta(object, { labels: { ...labels, 'kubernetes.io/metadata.name': name } });
}

/** Times of a Lease are in microseconds, with all six digits: a server takes no others. */
function readLease(object: GivenObject): GivenObject {
  return ['acquireTime', 'renewTime'].reduce(
    (lease: GivenObject, field) => {
      const time = valueAt(lease, ['spec', field]);
      if (time === undefined) return lease;
      return { ...withValueAt(lease, ['spec', field], microTime(time)), metadata: lease.metadata };
    },
    { ...object, spec: object.spec ?? {} },
  );
}

function microTime(time: Json): string {
  const [, seconds = '', micros = '', zone = ''] = /^(.{19})\.(\d{6})(Z|[+-]\d\d:\d\d)$/.exec(String(time)) ?? [];
  const ms = Date.parse(`${seconds}${zone}`);
  if (!Number.isNaN(ms)) return `${new Date(ms).toISOString().slice(0, 19)}.${micros}Z`;
  throw badRequest(
    `Lease in version "v1" cannot be handled as a Lease: ${JSON.stringify(time)} is not a time in microseconds, such as 2026-01-02T03:04:05.000006Z`,
  );
}

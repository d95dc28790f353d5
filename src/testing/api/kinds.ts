/** What single kinds do with their objects beyond what all do: defaults, derived fields, and what may not change. */

import { definitionProblems, readDefinition } from './custom-types.ts';
import { equal, isList, type Json, type JsonObject, valueAt, withValueAt } from './json.ts';
import { configMapProblems, readConfigMap, readSecret, secretProblems } from './kind-data.ts';
import { type GivenObject, withMeta } from './objects.ts';
import { type ResourceType, storageKeyOf } from './resource-type.ts';
import { badRequest, type Cause, cause } from './status.ts';

interface KindRules {
  /** Reads what a client sends, with the defaults of the kind. Throws a 400 for what it cannot read. */
  readonly read?: (object: GivenObject) => GivenObject;
  /** Puts an object into the form in which it is kept; `before` is there in an update. */
  readonly prepare?: (object: GivenObject, before: GivenObject | undefined) => GivenObject;
  readonly problems?: (object: GivenObject, before: GivenObject | undefined) => readonly Cause[];
}

const rules: Readonly<Record<string, KindRules>> = {
  'namespaces.': { prepare: prepareNamespace },
  'secrets.': { read: readSecret, problems: secretProblems },
  'configmaps.': { read: readConfigMap, problems: configMapProblems },
  'events.': { problems: eventProblems },
  'rolebindings.rbac.authorization.k8s.io': { problems: roleRefProblems },
  'clusterrolebindings.rbac.authorization.k8s.io': { problems: roleRefProblems },
  'customresourcedefinitions.apiextensions.k8s.io': { read: readDefinition, problems: definitionProblems },
  'leases.coordination.k8s.io': { read: readLease, problems: leaseProblems },
};

/** An object as its kind reads it. Throws a 400. */
export function readKind(type: ResourceType, object: GivenObject): GivenObject {
  return rules[storageKeyOf(type)]?.read?.(object) ?? object;
}

/** The object in the form in which it is kept. Its status is not looked at. */
export function prepareKind(type: ResourceType, object: GivenObject, before?: GivenObject): GivenObject {
  return rules[storageKeyOf(type)]?.prepare?.(object, before) ?? object;
}

export function kindProblems(type: ResourceType, object: GivenObject, before?: GivenObject): readonly Cause[] {
  return rules[storageKeyOf(type)]?.problems?.(object, before) ?? [];
}

const setAt = (object: GivenObject, path: readonly string[], value: Json | undefined): GivenObject => ({
  ...withValueAt(object, path, value),
  metadata: object.metadata,
});

function prepareNamespace(object: GivenObject, before: GivenObject | undefined): GivenObject {
  const { name = '', labels } = object.metadata;
  const named = withMeta(object, { labels: { ...labels, 'kubernetes.io/metadata.name': name } });
  const given = valueAt(before ?? object, ['spec', 'finalizers']);
  const finalizers = isList(given) ? given : [];
  return setAt(
    named,
    ['spec', 'finalizers'],
    before || finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
  );
}

/** An event is in the namespace of what it is about; one about what is in none is in `default`. */
function eventProblems({ involvedObject, metadata }: GivenObject): readonly Cause[] {
  const about = valueAt(involvedObject, ['namespace']) ?? '';
  if (about === metadata.namespace || (about === '' && metadata.namespace === 'default')) return [];
  return [cause.invalid('involvedObject.namespace', about, 'does not match event.namespace')];
}

function roleRefProblems(object: GivenObject, before: GivenObject | undefined): readonly Cause[] {
  if (!before || equal(object.roleRef, before.roleRef)) return [];
  return [cause.invalid('roleRef', object.roleRef, 'cannot change roleRef')];
}

/** Times of a Lease are in microseconds, with all six digits: a server takes no others. */
function readLease(object: GivenObject): GivenObject {
  return ['acquireTime', 'renewTime'].reduce(
    (lease: GivenObject, field) => {
      const time = valueAt(lease, ['spec', field]);
      return time === undefined ? lease : setAt(lease, ['spec', field], microTime(time));
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

function leaseProblems(object: JsonObject): readonly Cause[] {
  const seconds = valueAt(object, ['spec', 'leaseDurationSeconds']);
  const transitions = valueAt(object, ['spec', 'leaseTransitions']);
  return [
    ...(typeof seconds === 'number' && seconds <= 0
      ? [cause.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0')]
      : []),
    ...(typeof transitions === 'number' && transitions < 0
      ? [cause.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]
      : []),
  ];
}

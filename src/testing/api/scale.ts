/** The scale subresource: the replicas of a workload, whatever its kind. */

import { isObject, type Json, type JsonObject, valueAt, withValueAt } from './json.ts';
import type { GivenObject, StoredObject } from './objects.ts';
import { type ResourceType, resourceType, type ScalePaths } from './resource-type.ts';
import { badRequest, cause, invalid } from './status.ts';

/** The kind that a scale subresource has, whatever it belongs to. */
export const scaleType: ResourceType = resourceType({
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  plural: 'scales',
  namespaced: true,
});

/** An object's scale. */
export function scaleOf({ specReplicas, statusReplicas, selector }: ScalePaths, object: StoredObject): StoredObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const chosen = selector && selectorText(valueAt(object, selector));
  const replicas = valueAt(object, specReplicas);
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: typeof replicas === 'number' && replicas !== 0 ? { replicas } : {},
    status: { replicas: valueAt(object, statusReplicas) ?? 0, ...(chosen ? { selector: chosen } : {}) },
  };
}

/** The object with the replicas that a scale asks for. Throws a 400 or 422. */
export function scaled(paths: ScalePaths, object: StoredObject, scale: GivenObject): GivenObject {
  const replicas = valueAt(scale, ['spec', 'replicas']) ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas)) {
    throw badRequest('Scale in version "v1" cannot be handled as a Scale: spec.replicas is not a whole number');
  }
  if (replicas < 0) {
    const problem = cause.invalid('spec.replicas', replicas, 'must be greater than or equal to 0');
    throw invalid(scaleType, object.metadata.name, [problem]);
  }
  const { uid, resourceVersion } = scale.metadata;
  return {
    ...withValueAt(object, paths.specReplicas, replicas),
    metadata: {
      ...object.metadata,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

/** A selector as text: it may be text, or labels by name. */
function selectorText(selector: Json | undefined): string {
  if (typeof selector === 'string') return selector;
  const labels: JsonObject = isObject(selector) ? selector : {};
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .sort()
    .join(',');
}

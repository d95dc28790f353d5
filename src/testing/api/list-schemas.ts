/**
 * Which lists and maps a server-side apply merges, in the words of OpenAPI. A CustomResourceDefinition says it of its kind; here is what
 * matters of the built-in kinds.
 */

import { isObject, type JsonObject } from './json.ts';
import type { ResourceType } from './resource-type.ts';

const byKey = (keys: readonly string[], items: JsonObject = {}): JsonObject => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items,
});
const fields = (properties: JsonObject): JsonObject => ({ properties });
const spec = (properties: JsonObject): JsonObject => fields({ spec: fields(properties) });

const protocol = fields({ protocol: { default: 'TCP' } });
const containers = byKey(
  ['name'],
  fields({
    env: byKey(['name']),
    ports: byKey(['containerPort', 'protocol'], protocol),
    volumeMounts: byKey(['mountPath']),
  }),
);
const pod = spec({ containers, initContainers: containers, volumes: byKey(['name']) });
const workload = spec({ template: pod });

const builtIn: Readonly<Record<string, JsonObject>> = {
  CronJob: spec({ jobTemplate: workload }),
  DaemonSet: workload,
  Deployment: workload,
  Job: workload,
  Pod: pod,
  ReplicaSet: workload,
  Service: spec({ ports: byKey(['port', 'protocol'], protocol) }),
  StatefulSet: workload,
};

const metadata = fields({
  finalizers: { 'x-kubernetes-list-type': 'set' },
  ownerReferences: byKey(['uid'], { 'x-kubernetes-map-type': 'atomic' }),
});
const status = fields({ conditions: byKey(['type']) });

/** The schema of a kind, as far as it is known. */
export function schemaOf({ custom, kind, schema = {} }: ResourceType): JsonObject {
  const { properties } = custom ? schema : (builtIn[kind] ?? {});
  const known = isObject(properties) ? properties : {};
  return { ...schema, properties: custom ? { ...known, metadata } : { status, ...known, metadata } };
}

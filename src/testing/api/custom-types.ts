/** CustomResourceDefinitions: what one says about its kind, and those that every cluster starts with. */
import { z } from 'zod';
import { type ResourceType, resourceType } from './built-in-types.ts';
import { isList, isObject, type Json, type JsonObject, valueAt } from './json.ts';
import type { StoredObject } from './objects.ts';
import { cause, invalid, notImplemented } from './status.ts';

const definition = z
  .object({
    metadata: z.object({ name: z.string() }),
    spec: z.object({
      group: z.string().min(1),
      scope: z.enum(['Namespaced', 'Cluster']),
      names: z.object({
        kind: z.string().min(1),
        plural: z.string().min(1),
        singular: z.string().optional(),
        listKind: z.string().optional(),
      }),
      conversion: z.object({ strategy: z.string() }).optional(),
      versions: z
        .array(
          z.object({
            name: z.string().min(1),
            served: z.boolean(),
            schema: z.object({ openAPIV3Schema: z.record(z.string(), z.json()).optional() }).optional(),
            subresources: z.object({ status: z.object({}).optional() }).optional(),
            selectableFields: z.array(z.object({ jsonPath: z.string() })).optional(),
          }),
        )
        .min(1),
    }),
  })
  .refine(({ metadata, spec }) => metadata.name === `${spec.names.plural}.${spec.group}`, {
    path: ['metadata', 'name'],
    message: 'must be spec.names.plural+"."+spec.group',
  });

/**
 * The kinds of a CustomResourceDefinition, one for each version that is served. Throws a 422 that names each wrong field, and a 501 for
 * unsupported features.
 */
export function customTypes(object: Json): readonly ResourceType[] {
  const parsed = definition.safeParse(object);
  if (!parsed.success) {
    const name = valueAt(object, ['metadata', 'name']) ?? '';
    const causes = parsed.error.issues.map(({ path, message }) => cause.invalid(path.join('.'), '', message));
    throw invalid({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }, String(name), causes);
  }
  const { group, names, scope, versions, conversion } = parsed.data.spec;
  if ((conversion?.strategy ?? 'None') !== 'None') {
    throw notImplemented('spec.conversion of a CustomResourceDefinition other than None: it converts no objects');
  }
  return versions
    .filter(({ served }) => served)
    .map(({ name: version, schema, subresources = {}, selectableFields = [] }) =>
      resourceType({
        group,
        version,
        kind: names.kind,
        plural: names.plural,
        singular: names.singular ?? names.kind.toLowerCase(),
        listKind: names.listKind ?? `${names.kind}List`,
        namespaced: scope === 'Namespaced',
        custom: true,
        status: subresources.status !== undefined,
        generation: true,
        unconditionalUpdate: false,
        fields: selectableFields.map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
        schema: schema?.openAPIV3Schema ?? {},
      }),
    );
}

/** The status of a definition whose kind is served. */
export function established({ status }: StoredObject, now: string): JsonObject {
  const conditions = valueAt(status, ['conditions']);
  const yes = (type: string, reason: string, message: string) => ({
    type,
    lastTransitionTime: now,
    status: 'True',
    reason,
    message,
  });
  return {
    ...(isObject(status) ? status : {}),
    conditions:
      isList(conditions) && conditions.length > 0
        ? conditions
        : [
            yes('NamesAccepted', 'NoConflicts', 'no conflicts found'),
            yes('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
          ],
  };
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const listBy = (key: string) => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
  items: anything,
});
const profileStatus = {
  ...anything,
  properties: {
    conditions: listBy('type'),
    properties: listBy('name'),
    accessProviders: listBy('name'),
    credentialProviders: listBy('name'),
  },
};

const multicluster = (kind: string, plural: string, version: JsonObject, properties: JsonObject) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.multicluster.x-k8s.io` },
  spec: {
    group: 'multicluster.x-k8s.io',
    scope: 'Namespaced',
    names: { kind, plural },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { ...anything, properties } },
        ...version,
      },
    ],
  },
});

/** KEP-4322 and KEP-5313: every cluster starts with these definitions. */
export const multiclusterDefinitions = [
  multicluster('ClusterProfile', 'clusterprofiles', { subresources: { status: {} } }, { status: profileStatus }),
  multicluster('PlacementDecision', 'placementdecisions', {}, {}),
];

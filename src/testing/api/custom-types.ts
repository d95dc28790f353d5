/** CustomResourceDefinitions: what one says about its kind, what is wrong with one, and those that every cluster starts with. */

import { z } from 'zod';
import { isList, isObject, type Json, type JsonObject, valueAt } from './json.ts';
import type { GivenObject, StoredObject } from './objects.ts';
import { type ResourceType, resourceType, selectable } from './resource-type.ts';
import { type Cause, cause, invalid, notImplemented } from './status.ts';

const definition = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    group: z.string().min(1),
    scope: z.enum(['Namespaced', 'Cluster']),
    names: z.object({
      kind: z.string().min(1),
      plural: z.string().min(1),
      singular: z.string().optional(),
      listKind: z.string().optional(),
      shortNames: z.array(z.string()).optional(),
      categories: z.array(z.string()).optional(),
    }),
    conversion: z.object({ strategy: z.string() }).optional(),
    versions: z
      .array(
        z.object({
          name: z.string().min(1),
          served: z.boolean(),
          storage: z.boolean(),
          subresources: z
            .object({
              status: z.object({}).optional(),
              scale: z.object({}).optional(),
            })
            .optional(),
          selectableFields: z.array(z.object({ jsonPath: z.string() })).optional(),
        }),
      )
      .min(1),
  }),
});

type Definition = z.output<typeof definition>;

/** A definition as a client sends it, with the names and the conversion that it need not say. */
export function readDefinition(object: GivenObject): GivenObject {
  const spec = valueAt(object, ['spec']);
  const names = valueAt(object, ['spec', 'names']);
  if (!isObject(spec) || !isObject(names)) return object;
  const { kind } = names;
  const usual = typeof kind === 'string' ? { singular: kind.toLowerCase(), listKind: `${kind}List` } : {};
  return { ...object, spec: { conversion: { strategy: 'None' }, ...spec, names: { ...usual, ...names } } };
}

/** Throws a 422 that names each wrong field, and a 501 for what is not done. */
function parse(object: Json): Definition {
  const parsed = definition.safeParse(object);
  if (parsed.success) {
    if ((parsed.data.spec.conversion?.strategy ?? 'None') !== 'None') {
      throw notImplemented('spec.conversion of a CustomResourceDefinition other than None: it converts no objects');
    }
    return parsed.data;
  }
  const name = z.object({ metadata: z.object({ name: z.string() }) }).safeParse(object);
  const causes = parsed.error.issues.map(({ path, message }) => cause.invalid(path.join('.'), '', message));
  throw refused(name.success ? name.data.metadata.name : '', causes);
}

const refused = (name: string, causes: readonly Cause[]) =>
  invalid({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }, name, causes);

/** What is wrong with a definition, or with its change. Throws a 422 or 501 for one that cannot be read. */
export function definitionProblems(object: GivenObject, before: GivenObject | undefined): readonly Cause[] {
  const { metadata, spec } = parse(object);
  const { group, names, scope, versions } = spec;
  const causes: Cause[] = [];
  const check = (good: boolean, problem: Cause) => {
    if (!good) causes.push(problem);
  };
  const full = `${names.plural}.${group}`;
  check(
    metadata.name === full,
    cause.invalid('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group'),
  );
  check(group.includes('.'), cause.invalid('spec.group', group, 'should be a domain with at least one dot'));
  const stored = versions.filter(({ storage }) => storage);
  const one = 'must have exactly one version marked as storage version';
  check(stored.length === 1, cause.invalid('spec.versions', versions, one));
  check(
    new Set(versions.map(({ name }) => name)).size === versions.length,
    cause.invalid('spec.versions', versions, 'must contain unique version names'),
  );
  for (const [path, now] of [
    [['spec', 'scope'], scope],
    [['spec', 'names', 'kind'], names.kind],
  ] as const) {
    const was = before && valueAt(before, path);
    check(was === undefined || was === now, cause.invalid(path.join('.'), now, 'field is immutable'));
  }
  return causes;
}

/** The kinds of a CustomResourceDefinition, one for each version, those first that are served. */
export function customTypes(object: Json): readonly CustomType[] {
  const { spec } = parse(object);
  const { group, names, scope } = spec;
  return spec.versions
    .toSorted((one, other) => Number(other.served) - Number(one.served))
    .map(({ name: version, served, subresources = {}, selectableFields = [] }) => ({
      ...resourceType({
        group,
        version,
        kind: names.kind,
        plural: names.plural,
        singular: names.singular ?? names.kind.toLowerCase(),
        listKind: names.listKind ?? `${names.kind}List`,
        shortNames: names.shortNames ?? [],
        categories: names.categories ?? [],
        namespaced: scope === 'Namespaced',
        custom: true,
        status: subresources.status !== undefined,
        statusKeepsMetadata: true,
        notDone: subresources.scale ? ['scale'] : [],
        generation: true,
        unconditionalUpdate: false,
        fields: selectableFields.map(({ jsonPath }) => selectable(jsonPath.replace(/^\./, ''))),
      }),
      served,
    }));
}

export interface CustomType extends ResourceType {
  readonly served: boolean;
}

/** The status of a definition whose kind is served. */
export function established(object: StoredObject, now: string): JsonObject {
  const { spec } = parse(object);
  const conditions = valueAt(object.status, ['conditions']);
  const stored = valueAt(object.status, ['storedVersions']);
  const storage = spec.versions.filter((version) => version.storage).map(({ name }) => name);
  const yes = (type: string, reason: string, message: string) => ({
    type,
    lastTransitionTime: now,
    status: 'True',
    reason,
    message,
  });
  return {
    conditions:
      isList(conditions) && conditions.length > 0
        ? conditions
        : [
            yes('NamesAccepted', 'NoConflicts', 'no conflicts found'),
            yes('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
          ],
    acceptedNames: valueAt(object, ['spec', 'names']),
    storedVersions: [...new Set([...(isList(stored) ? stored : []), ...storage])],
  };
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** KEP-4322 and KEP-5313: every cluster starts with these definitions. */
export const multiclusterDefinitions: readonly GivenObject[] = [
  ['ClusterProfile', 'clusterprofiles', { subresources: { status: {} } }],
  ['PlacementDecision', 'placementdecisions', {}],
].map(([kind = '', plural, more]) =>
  readDefinition({
    metadata: { name: `${String(plural)}.multicluster.x-k8s.io` },
    spec: {
      group: 'multicluster.x-k8s.io',
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [
        { name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema: anything }, ...Object(more) },
      ],
    },
  }),
);

/** CustomResourceDefinitions: what one says about its kind, and those that every cluster starts with. */

import { z } from 'zod';
import type { Json } from './json.ts';
import { type ResourceType, resourceType, type ScalePaths, selectable } from './resource-type.ts';
import { type Cause, cause, invalid } from './status.ts';

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
    versions: z
      .array(
        z.object({
          name: z.string().min(1),
          served: z.boolean(),
          storage: z.boolean(),
          subresources: z
            .object({
              status: z.object({}).optional(),
              scale: z
                .object({
                  specReplicasPath: z.string(),
                  statusReplicasPath: z.string(),
                  labelSelectorPath: z.string().optional(),
                })
                .optional(),
            })
            .optional(),
          selectableFields: z.array(z.object({ jsonPath: z.string() })).optional(),
        }),
      )
      .min(1),
  }),
});

/** `.spec.replicas` as a list of fields. */
const fieldsOf = (jsonPath: string) => jsonPath.split('.').filter((field) => field !== '');

type Scale = { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string | undefined };

const scaleOf = ({ specReplicasPath, statusReplicasPath, labelSelectorPath }: Scale): ScalePaths => ({
  specReplicas: fieldsOf(specReplicasPath),
  statusReplicas: fieldsOf(statusReplicasPath),
  ...(labelSelectorPath === undefined ? {} : { selector: fieldsOf(labelSelectorPath) }),
});

/** The kinds that a CustomResourceDefinition serves, one for each version. Throws a 422 that names each wrong field. */
export function customTypes(object: Json): readonly ResourceType[] {
  const parsed = definition.safeParse(object);
  const name = z.object({ metadata: z.object({ name: z.string() }) }).safeParse(object);
  const refuse = (causes: readonly Cause[]) =>
    invalid(
      { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' },
      name.success ? name.data.metadata.name : '',
      causes,
    );
  if (!parsed.success) {
    throw refuse(parsed.error.issues.map(({ path, message }) => cause.invalid(path.join('.'), '', message)));
  }
  const { metadata, spec } = parsed.data;
  const { group, names, scope } = spec;
  if (metadata.name !== `${names.plural}.${group}`) {
    throw refuse([cause.invalid('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group')]);
  }
  return spec.versions
    .filter(({ served }) => served)
    .map(({ name: version, subresources = {}, selectableFields = [] }) =>
      resourceType({
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
        statusKeeps: 'metadata',
        ...(subresources.scale ? { scale: scaleOf(subresources.scale) } : {}),
        generation: true,
        unconditionalUpdate: false,
        fields: selectableFields.map(({ jsonPath }) => selectable(fieldsOf(jsonPath).join('.'))),
      }),
    );
}

/** KEP-4322 and KEP-5313: every cluster has these kinds from the start; a CustomResourceDefinition may define them anew. */
export const multiclusterTypes: readonly ResourceType[] = [
  ['ClusterProfile', 'clusterprofiles'],
  ['PlacementDecision', 'placementdecisions'],
].map(([kind = '', plural = '']) =>
  resourceType({
    group: 'multicluster.x-k8s.io',
    version: 'v1alpha1',
    kind,
    plural,
    namespaced: true,
    custom: true,
    status: kind === 'ClusterProfile',
    statusKeeps: 'metadata',
    generation: true,
    unconditionalUpdate: false,
  }),
);

/** The words that the tables of built-in kinds are written in. */
import type { ResourceType, ScalePaths } from './resource-type.ts';

type Rules = Partial<Omit<ResourceType, 'group' | 'version' | 'kind' | 'plural' | 'namespaced'>>;
export type Row = readonly [kind: string, plural: string, scope: 'namespaced' | 'cluster', rules?: Rules];

export const all = { categories: ['all'] };
export const extensions = { categories: ['api-extensions'] };
export const status = { status: true };
export const statusOnly = { status: true, statusKeeps: 'metadata' } as const;
export const generation = { generation: true };
export const returned = { returnsDeleted: true };
export const strict = { unconditionalUpdate: false };
/** Where Kubernetes takes a finalizer of one word. */
export const anyFinalizer = { qualifiedFinalizers: false };
export const created = { createOnUpdate: true };
export const orphans = { orphansDependents: true };
export const path = { names: 'path' } as const;
export const content = (...fields: readonly string[]) => ({ content: fields });
/** Numbers that a status always has. */
export const counts = (...fields: readonly string[]) => {
  const zeros = Object.fromEntries(fields.map((field) => [field, 0]));
  return { initialStatus: zeros, statusDefaults: zeros };
};
export const short = (...shortNames: readonly string[]) => ({ shortNames });
export const scale = (...selector: readonly string[]): { scale: ScalePaths } => ({
  scale: {
    specReplicas: ['spec', 'replicas'],
    statusReplicas: ['status', 'replicas'],
    selector: ['spec', 'selector', ...selector],
  },
});
export const streams = ['attach', 'exec', 'portforward', 'proxy', 'log'];

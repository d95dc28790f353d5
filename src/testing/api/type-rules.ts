/** The words that the tables of built-in kinds are written in. */
import type { ResourceType, SelectableField } from './resource-type.ts';

type Rules = Partial<Omit<ResourceType, 'group' | 'version' | 'kind' | 'namespaced'>>;
/** A kind, without its group and version. */
export type Row = Rules & Pick<ResourceType, 'kind' | 'plural' | 'namespaced'>;

const row = (kind: string, namespaced: boolean, rules: readonly Rules[]): Row =>
  Object.assign({ kind, plural: pluralOf(kind), namespaced }, ...rules);

export const namespaced = (kind: string, ...rules: readonly Rules[]): Row => row(kind, true, rules);
export const cluster = (kind: string, ...rules: readonly Rules[]): Row => row(kind, false, rules);

function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  return singular.endsWith('s') ? `${singular}es` : `${singular}s`.replace(/ys$/, 'ies');
}

export const status = { status: true };
export const generation = { generation: true };
export const returned = { returnsDeleted: true };
export const strict = { unconditionalUpdate: false };
export const created = { createOnUpdate: true };
export const path = { names: 'path' } as const;
/** Fields that a field selector takes, beside the name and the namespace. */
export const fields = (...given: readonly SelectableField[]) => ({ fields: given });

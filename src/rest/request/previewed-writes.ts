/** What the writes of a preview would have changed. */
import type { Logger } from '../../observability/logger.ts';
import { printable } from '../../util/printable.ts';

/** A write that a preview has not done. */
export interface PreviewedWrite {
  /** `namespace/name` of the ClusterProfile, or what errors call it: `kubeconfig, context hub`. */
  readonly cluster: string;
  readonly verb: 'create' | 'update' | 'delete';
  /** Of the request, without its query. */
  readonly path: string;
  /** The kind, or the resource (`configmaps`) if the answer does not name it, as with many deletes. */
  readonly kind: string;
  /** `namespace/name`; of an object whose name the server makes up, `namespace/prefix*`; of a collection its namespace. */
  readonly object: string;
  /**
   * Fields and what becomes of them: `spec.replicas: 2 -> 3`. Empty for deletes, and `undefined` if they could not be compared: the identity
   * may not read the object, or the answer is not JSON. Values of Secrets are hidden.
   */
  readonly changes: readonly string[] | undefined;
  /** How often it was tried. */
  readonly count: number;
}

/** Different writes that are kept. */
const mostWrites = 10_000;

/** Collects what the writes of previewed configs would have changed: one for a fleet, or for several configs that share it. */
export class Preview {
  readonly #writes = new Map<string, PreviewedWrite>();
  /** @internal Of a fleet: each config has a logger of its own. */
  readonly logger: Logger | undefined;

  constructor();
  /** @internal */
  constructor(logger: Logger);
  constructor(logger?: Logger) {
    this.logger = logger;
  }

  /** Each different write once, sorted by cluster and path: at most 10,000. A write that would change nothing is not among them. */
  summary(): readonly PreviewedWrite[] {
    const key = ({ cluster, path }: PreviewedWrite) => `${cluster} ${path}`;
    return [...this.#writes.values()].sort((one, other) => (key(one) < key(other) ? -1 : 1));
  }

  /** @internal Returns a line for the log, if it is the first one of its kind. */
  add(write: Omit<PreviewedWrite, 'count'>): string | undefined {
    const { cluster, verb, kind, object, path, changes } = write;
    if (verb === 'update' && changes?.length === 0) return undefined;
    const key = JSON.stringify([cluster, verb, path, object, changes]);
    const known = this.#writes.get(key);
    if (known || this.#writes.size < mostWrites) this.#writes.set(key, { ...write, count: (known?.count ?? 0) + 1 });
    if (known) return undefined;
    const what = `would ${verb} ${kind} ${object}`.trimEnd();
    if (verb === 'delete') return what;
    return `${what}: ${changes ? changes.join('; ') : 'its changes are not known, since it cannot be read or compared'}`;
  }
}

/** What every write changes. */
const bookkeeping: ReadonlySet<string> = new Set(
  ['managedFields', 'resourceVersion', 'uid', 'creationTimestamp', 'generation', 'selfLink'].map(
    (name) => `metadata.${name}`,
  ),
);
/** It may have the values of a Secret. */
const lastApplied = 'metadata.annotations.kubectl.kubernetes.io/last-applied-configuration';
const mostChanges = 40;
const longestValue = 120;

/** The fields in which two states of an object differ, each with its values. */
export function changesBetween(before: object | undefined, after: object): readonly string[] {
  const isSecret = Reflect.get(after, 'kind') === 'Secret';
  const [from, to] = [fieldsOf(before ?? {}), fieldsOf(after)];
  const changed = [...new Set([...from.keys(), ...to.keys()])]
    .filter((field) => from.get(field) !== to.get(field))
    .sort();
  const shown = (field: string, value: string | undefined) => {
    if (value === undefined) return '(none)';
    const isHidden = field === lastApplied || (isSecret && /^(?:data|stringData)\b/.test(field));
    return isHidden ? '(hidden)' : printable(value, longestValue);
  };
  const lines = changed.slice(0, mostChanges).map((field) => {
    const values = from.has(field) ? [from.get(field), to.get(field)] : [to.get(field)];
    return `${field}: ${values.map((value) => shown(field, value)).join(' -> ')}`;
  });
  const left = changed.length - lines.length;
  return left > 0 ? [...lines, `and ${left} more`] : lines;
}

/** The leaves of an object, by their paths, as JSON. An item of a list is called by its name, if it has one. */
function fieldsOf(object: object): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  const visit = (value: unknown, path: string) => {
    if (bookkeeping.has(path)) return;
    const isLeaf = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
    if (isLeaf) fields.set(path, JSON.stringify(value) ?? 'null');
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) visit(item, `${path}[${item?.name ?? index}]`);
    else for (const [name, field] of Object.entries(value)) visit(field, path === '' ? name : `${path}.${name}`);
  };
  for (const [name, value] of Object.entries(object)) if (name !== 'apiVersion' && name !== 'kind') visit(value, name);
  return fields;
}

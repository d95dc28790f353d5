/** Kubernetes objects as the wire has them. */

/** Any object of the Kubernetes API. Times are strings (RFC 3339), as they come. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface ObjectMeta {
  readonly name: string;
  /** Absent where the resource has none. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/**
 * A model of client-node as the wire has it: where the model says `Date`, there is a string.
 *
 * @example
 * const pods = cluster.informer<Wire<V1Pod>>({ apiVersion: 'v1', kind: 'Pod' });
 */
export type Wire<Model extends object> = KubernetesObject & {
  readonly [K in keyof Model as K extends keyof KubernetesObject ? never : K]: OnWire<Model[K]>;
};

type OnWire<T> = T extends Date
  ? string
  : T extends readonly (infer Element)[]
    ? readonly OnWire<Element>[]
    : T extends object
      ? { readonly [K in keyof T]: OnWire<T[K]> }
      : T;

/** `namespace/name`, or the name alone where the resource has no namespaces: the key of a cache. */
export function keyOf({ metadata: { name, namespace } }: KubernetesObject): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

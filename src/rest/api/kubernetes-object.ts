/** Kubernetes objects as the wire has them. */

/**
 * A time as the wire has it (RFC 3339): a string in every way. Only `WireInput` tells the two apart, since it takes a `Date` for a time
 * and not for other strings.
 */
export type Time = string & Record<never, never>;

/** Any object of the Kubernetes API. Times are strings (RFC 3339), as they come. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** The `metadata` of an object that the API server returned. */
export interface ObjectMeta {
  readonly name: string;
  /** For `create`: the server adds five letters to it, if there is no name. */
  readonly generateName?: string;
  /** Absent if the resource has none. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: Time;
  readonly deletionTimestamp?: Time;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** An owner of an object: the garbage collector deletes the object when all of its owners are gone. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/**
 * A model of client-node as the wire has it: a `Date` of the model is a string, and fields have the API's names, `from` and not `_from`.
 *
 * @example
 * type Pod = Wire<V1Pod>;
 */
export type Wire<Model extends object> = KubernetesObject & {
  readonly [K in keyof Model as K extends keyof KubernetesObject ? never : WireName<K, Model>]: OnWire<Model[K]>;
};

/** The API's name of a model's field: client-node's generator renames words of TypeScript, and characters that no name has. */
type WireName<K, Model> = K extends `_${infer Word}`
  ? Word
  : K extends `x_kubernetes_${infer Words}`
    ? `x-kubernetes-${Dashed<Words>}`
    : 'x_kubernetes_list_type' extends keyof Model
      ? K extends 'ref' | 'schema'
        ? `$${K}`
        : K
      : K;

type Dashed<Words extends string> = Words extends `${infer Word}_${infer Others}` ? `${Word}-${Dashed<Others>}` : Words;

type OnWire<T> = T extends Date
  ? Time
  : T extends readonly (infer Element)[]
    ? readonly OnWire<Element>[]
    : T extends object
      ? { readonly [K in keyof T as WireName<K, T>]: OnWire<T[K]> }
      : T;

/**
 * What may be sent of an object: each field may be left out, a time may be a `Date`, and a quantity a number. So the models of
 * client-node, kubernetes-models and cdk8s fit, too.
 *
 * @example
 * const input: WireInput<Wire<V1ConfigMap>> = { metadata: { name: 'settings' }, data: { colour: 'red' } };
 */
export type WireInput<T> = T extends string
  ? T | (IsTime<T> extends true ? Date : never)
  : T extends readonly (infer Element)[]
    ? readonly WireInput<Element>[]
    : T extends object
      ? { readonly [K in keyof T]?: (K extends QuantityField ? Quantities<T[K]> : WireInput<T[K]>) | undefined }
      : T;

/** Fields with a quantity, or a map of quantities. */
type QuantityField =
  | ('divisor' | 'sizeLimit' | 'averageValue' | 'limits' | 'requests' | 'hard' | 'capacity' | 'overhead')
  | ('default' | 'defaultRequest' | 'max' | 'min' | 'maxLimitRequestRatio');
type Quantities<T> = string extends T
  ? T | number
  : T extends { readonly [name: string]: string }
    ? { readonly [K in keyof T]: T[K] | number }
    : WireInput<T>;

/** `string` and `Time` are assignable to one another, but not identical. */
type IsTime<T> = (<X>() => X extends T ? 1 : 2) extends <X>() => X extends Time ? 1 : 2 ? true : false;

/** A JSON merge patch (RFC 7396) of an object: `null` takes a field away, and lists are replaced. */
export type MergePatch<T> = T extends string
  ? T | (IsTime<T> extends true ? Date : never)
  : T extends readonly (infer Element)[]
    ? readonly WireInput<Element>[]
    : T extends object
      ? { readonly [K in keyof T]?: MergePatch<T[K]> | null | undefined }
      : T;

/** `namespace/name`, or the name alone where the resource has no namespaces: the key of a cache. */
export function keyOf({ metadata: { name, namespace } }: KubernetesObject): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

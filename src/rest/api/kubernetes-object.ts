/** Kubernetes objects as the wire has them, and their types by `apiVersion` and `kind`. */
import type * as models from '@kubernetes/client-node';

/** A time as the wire has it (RFC 3339): a string in every way. Only `WireInput` tells the two apart: it takes a `Date` for a time. */
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
  /** For `create`: without a name, the server appends five characters to it. */
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

/** `namespace/name`, or the name alone if the resource has no namespaces: the key of a cache. */
export function keyOf({ metadata }: KubernetesObject): string {
  return keyOfName(metadata);
}

/** The same for an object that may not exist. */
export function keyOfName(object: { readonly name: string; readonly namespace?: string | undefined }): string {
  const { name, namespace } = object;
  return namespace ? `${namespace}/${name}` : name;
}

/** An object of a kind without a model: its fields beside `metadata` are unknown. */
export type UntypedObject = KubernetesObject & { readonly [field: string]: unknown };

/**
 * The object of a kind as the wire has it: of a built-in kind the `Wire` of client-node's model, of any other an `UntypedObject`.
 *
 * @example
 * const nodeOf = (pod: ObjectOf<'v1', 'Pod'>) => pod.spec?.nodeName;
 */
export type ObjectOf<
  ApiVersion extends string,
  Kind extends string,
> = ApiVersion extends `${infer Group}/${infer Version}`
  ? Group extends keyof Groups
    ? Model<Groups[Group], Version, Kind>
    : UntypedObject
  : Model<'Core', ApiVersion, Kind>;

/** The groups of a kube-apiserver, and the prefix of those models whose names are not unique without one. */
interface Groups {
  'admissionregistration.k8s.io': 'Admissionregistration';
  'apiextensions.k8s.io': 'Apiextensions';
  'apiregistration.k8s.io': 'Apiregistration';
  apps: 'Apps';
  'authentication.k8s.io': 'Authentication';
  'authorization.k8s.io': 'Authorization';
  autoscaling: 'Autoscaling';
  batch: 'Batch';
  'certificates.k8s.io': 'Certificates';
  'coordination.k8s.io': 'Coordination';
  'discovery.k8s.io': 'Discovery';
  'events.k8s.io': 'Events';
  'flowcontrol.apiserver.k8s.io': 'Flowcontrol';
  'internal.apiserver.k8s.io': 'Internal';
  'networking.k8s.io': 'Networking';
  'node.k8s.io': 'Node';
  policy: 'Policy';
  'rbac.authorization.k8s.io': 'Rbac';
  'resource.k8s.io': 'Resource';
  'scheduling.k8s.io': 'Scheduling';
  'storage.k8s.io': 'Storage';
  'storagemigration.k8s.io': 'Storagemigration';
}

type Models = typeof models;

/** `infer` keeps TypeScript 5 and 6 from comparing all of these names with each other. */
type Model<
  Prefix extends string,
  Version extends string,
  Kind extends string,
> = `${Prefix}${Capitalize<Version>}${Kind}` extends infer Name extends keyof Models
  ? InstanceOf<Models[Name]>
  : `${Capitalize<Version>}${Kind}` extends infer Name extends keyof Models
    ? InstanceOf<Models[Name]>
    : UntypedObject;

type InstanceOf<Class> = Class extends abstract new (
  ...args: never
) => infer Instance
  ? Instance extends object
    ? Wire<Instance>
    : UntypedObject
  : UntypedObject;

/** The literal types by which the object's type is found, and whether only its metadata is asked for. */
export interface KindOf<ApiVersion extends string, Kind extends string, MetadataOnly extends boolean = boolean> {
  readonly apiVersion: ApiVersion;
  readonly kind: Kind;
  readonly metadataOnly?: MetadataOnly | undefined;
}

/** `T` if the caller names it; else the type that follows from the kind. */
export type TypeOf<
  T extends KubernetesObject,
  ApiVersion extends string,
  Kind extends string,
  MetadataOnly extends boolean = boolean,
> = [T] extends [never] ? ([MetadataOnly] extends [true] ? KubernetesObject : ObjectOf<ApiVersion, Kind>) : T;

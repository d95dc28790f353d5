/** The type of an object by its `apiVersion` and `kind`: client-node's models, for the kinds that every API server has. */
import type * as models from '@kubernetes/client-node';
import type { KubernetesObject, Wire } from './kubernetes-object.ts';

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

type Model<Prefix extends string, Version extends string, Kind extends string> = InstanceOf<
  `${Prefix}${Capitalize<Version>}${Kind}` extends keyof Models
    ? `${Prefix}${Capitalize<Version>}${Kind}`
    : `${Capitalize<Version>}${Kind}`
>;

type InstanceOf<Name extends string> = Name extends keyof Models
  ? Models[Name] extends abstract new (
      ...args: never
    ) => infer Instance
    ? Instance extends object
      ? Wire<Instance>
      : UntypedObject
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

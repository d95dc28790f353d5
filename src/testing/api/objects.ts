/** Kubernetes objects, as they come in, as they are kept, and as they go out; and the rules for their metadata. */
import { z } from 'zod';
import { apiVersionOf, type NameRule, type ResourceType } from './built-in-types.ts';
import { isList, isObject, type Json, type JsonObject, without, withoutNulls } from './json.ts';
import { type Cause, cannotBeHandled, cause, invalid } from './status.ts';

const texts = z.record(z.string(), z.string()).optional();
const ownerReference = z.object({
  apiVersion: z.string().default(''),
  kind: z.string().default(''),
  name: z.string().default(''),
  uid: z.string().default(''),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});
/** What a client may say in metadata; the rest only the server says. */
const metadataSchema = z.object({
  name: z.string().optional(),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  labels: texts,
  annotations: texts,
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReference).optional(),
});

type OwnerReference = z.output<typeof ownerReference>;

/** An entry of `metadata.managedFields`. */
export interface ManagedFields extends JsonObject {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: JsonObject;
  readonly subresource?: string;
}

/** Metadata of an object that may not have been stored yet. */
export interface GivenMeta extends Readonly<z.output<typeof metadataSchema>>, JsonObject {
  readonly generation?: number | undefined;
  readonly creationTimestamp?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  /** The server writes them; what a client sends is ignored. */
  readonly managedFields?: readonly ManagedFields[] | undefined;
}

/** An object without its kind and version, which its resource says. */
export interface GivenObject extends JsonObject {
  readonly metadata: GivenMeta;
}

/** What every stored object has. */
export interface StoredMeta extends GivenMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
}

/** An object as it is kept. Nothing changes it: a write puts another in its place. */
export interface StoredObject extends JsonObject {
  readonly metadata: StoredMeta;
}

/** A whole object, as it goes out. */
interface KubernetesObject extends StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/** An object as it goes out: a list of built-in objects leaves out what its own kind says. One that was not stored has no version. */
export function present(type: ResourceType, object: StoredObject): KubernetesObject {
  const { resourceVersion } = object.metadata;
  const shown =
    resourceVersion === '' ? withMeta<JsonObject & StoredObject>(object, { resourceVersion: undefined }) : object;
  return { kind: type.kind, apiVersion: apiVersionOf(type), ...shown };
}

/** The object with other metadata; fields that are `undefined` go. */
export function withMeta<T extends JsonObject & { readonly metadata: GivenMeta }>(object: T, meta: GivenMeta): T {
  return { ...object, metadata: without({ ...object.metadata, ...meta }) };
}

/** Where an object is, or will be. */
export interface Place {
  readonly type: ResourceType;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Where an object stands among those of its resource, in the order of a list. */
export const keyOf = (namespace: string | undefined, name: string) =>
  namespace === undefined ? name : `${namespace}/${name}`;

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

/** Metadata as a client sends it, without empty fields. Throws a 400 if it is not what metadata is. */
export function readMeta(type: ResourceType, given: Json | undefined): GivenMeta {
  const parsed = metadataSchema.safeParse(isObject(given) ? withoutNulls(given) : (given ?? {}));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${['metadata', ...path].join('.')}: ${message}`);
    throw cannotBeHandled(type, problems.join('; '));
  }
  const { namespace, ...unscoped } = parsed.data;
  const isEmpty = (value: Json | undefined) =>
    value === undefined || value === '' || ((isList(value) || isObject(value)) && Object.keys(value).length === 0);
  const fields = Object.entries<Json | undefined>(type.namespaced ? { ...unscoped, namespace } : unscoped);
  return Object.fromEntries(fields.filter(([, value]) => !isEmpty(value)));
}

/** Throws a 422 that names each field that is wrong. */
export function checkMeta(type: ResourceType, meta: GivenMeta, before?: GivenMeta): void {
  const causes = [...metaProblems(type, meta)];
  const added = (meta.finalizers ?? []).filter((finalizer) => !before?.finalizers?.includes(finalizer));
  if (before?.deletionTimestamp !== undefined && added.length > 0) {
    const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
    causes.push(cause.forbidden('metadata.finalizers', detail));
  }
  if (causes.length > 0) throw invalid(type, meta.name ?? '', causes);
}

function metaProblems(type: ResourceType, meta: GivenMeta): readonly Cause[] {
  const causes: Cause[] = [];
  const check = (field: string, value: unknown, problem: string | undefined) => {
    if (problem !== undefined) causes.push(cause.invalid(field, value, problem));
  };
  if (!meta.name) causes.push(cause.required('metadata.name', 'name or generateName is required'));
  else check('metadata.name', meta.name, nameProblem(meta.name, type.names));
  if (meta.namespace !== undefined) check('metadata.namespace', meta.namespace, nameProblem(meta.namespace, 'label'));
  for (const [key, value] of Object.entries(meta.labels ?? {})) {
    check('metadata.labels', key, labelKeyProblem(key));
    check('metadata.labels', value, labelValueProblem(value));
  }
  for (const key of Object.keys(meta.annotations ?? {})) {
    check('metadata.annotations', key, labelKeyProblem(key.toLowerCase()));
  }
  causes.push(...ownerProblems(meta.ownerReferences ?? []));
  for (const [index, finalizer] of (meta.finalizers ?? []).entries()) {
    check('metadata.finalizers', finalizer, labelKeyProblem(finalizer));
    const own = type.custom || finalizer.includes('/') || standardFinalizers.includes(finalizer);
    const problem = own ? undefined : 'name is neither a standard finalizer name nor is it fully qualified';
    check(`metadata.finalizers[${index}]`, finalizer, problem);
  }
  return causes;
}

function ownerProblems(owners: readonly OwnerReference[]): readonly Cause[] {
  const at = 'metadata.ownerReferences';
  const causes = owners.flatMap((owner) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((field) => owner[field] === '')
      .map((field) => cause.invalid(`${at}.${field}`, '', 'must not be empty')),
  );
  const controllers = owners.filter(({ controller }) => controller === true);
  if (controllers.length > 1) causes.push(cause.invalid(at, owners, 'only one reference can be the controller'));
  return causes;
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualified = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** An object's name, by the rule of its kind. */
function nameProblem(name: string, rule: NameRule): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  if (/[/%]/.test(name)) return "may not contain '/' or '%'";
  switch (rule) {
    case 'path':
      return undefined;
    case 'subdomain':
      return problemOf(name, subdomain, 253, 'an RFC 1123 subdomain: a-z, 0-9, - and .');
    case 'label':
      return problemOf(name, label, 63, 'an RFC 1123 label: a-z, 0-9 and -');
  }
}

function problemOf(text: string, pattern: RegExp, most: number, what: string): string | undefined {
  if (!pattern.test(text)) return `must be ${what}, with a letter or digit at both ends`;
  return text.length > most ? `must be no more than ${most} bytes` : undefined;
}

const qualifiedName = "of letters, digits, '-', '_' and '.'";

/** A label's key, a finalizer: `example.com/name`, or without a prefix. */
export function labelKeyProblem(key: string): string | undefined {
  const [name = '', prefix, ...more] = key.split('/').reverse();
  if (more.length > 0) return 'must be a name with at most one prefix and one /';
  const problem = prefix === undefined ? undefined : problemOf(prefix, subdomain, 253, 'an RFC 1123 subdomain');
  return problem === undefined ? problemOf(name, qualified, 63, qualifiedName) : `the prefix ${problem}`;
}

export function labelValueProblem(value: string): string | undefined {
  return value === '' ? undefined : problemOf(value, qualified, 63, qualifiedName);
}

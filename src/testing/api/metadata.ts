/** Metadata: read from what a client sends, checked, and filled in with what only the server says. */
import { apiVersionOf, type NameRule, type ResourceType } from './built-in-types.ts';
import { isList, isObject, type Json, without, withoutNulls } from './json.ts';
import { readKind } from './kinds.ts';
import { type GivenMeta, type GivenObject, metadataSchema, type OwnerReference } from './objects.ts';
import { badRequest, type Cause, cannotBeHandled, cause, invalid } from './status.ts';

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

/**
 * An object as a client sends it. Throws a 400 if its kind or version is not the resource's, or its metadata is not what
 * metadata is.
 */
export function readObject(type: ResourceType, body: Json): GivenObject {
  if (!isObject(body)) throw cannotBeHandled(type, 'the body is not an object');
  const { apiVersion, kind, metadata: given, ...rest } = body;
  const expected = apiVersionOf(type);
  if (type.custom && !(kind && apiVersion)) throw badRequest("Object 'Kind' or 'apiVersion' is missing");
  if ((kind && kind !== type.kind) || (apiVersion && apiVersion !== expected)) {
    throw badRequest(`${String(kind)} in ${String(apiVersion)} cannot be handled as a ${type.kind} in ${expected}`);
  }
  const parsed = metadataSchema.safeParse(isObject(given) ? withoutNulls(given) : (given ?? {}));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${['metadata', ...path].join('.')}: ${message}`);
    throw cannotBeHandled(type, problems.join('; '));
  }
  const { namespace, ...unscoped } = parsed.data;
  const metadata = tidyMeta(type.namespaced ? { ...unscoped, namespace } : unscoped);
  // A built-in kind has no null, nor has metadata: it is the same as a field that is not there.
  return { metadata, ...readKind(type, type.custom ? without(rest) : withoutNulls(rest)) };
}

/** Metadata in one form: without empty fields. */
function tidyMeta(given: GivenMeta): GivenMeta {
  const isEmpty = (value: Json | undefined) =>
    value === undefined || value === '' || ((isList(value) || isObject(value)) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(given).filter(([, value]) => !isEmpty(value)));
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

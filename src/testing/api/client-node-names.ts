/**
 * Fields that a server drops because of their names. FakeCluster knows no schemas; but client-node's models rename fields, such as `from`
 * to `_from`, and an object with such a name means something else on a real server.
 */
import { isList, isObject, type Json } from './json.ts';
import { badRequest, unexplained } from './status.ts';

const renamed = /^(?:_(?:default|enum|from|int)|x_kubernetes_\w+)$/;
/** Fields whose keys are anyone's. */
const maps: ReadonlySet<string> = new Set(['annotations', 'labels', 'matchLabels', 'nodeSelector', 'properties']);

export interface WrittenBody {
  readonly kind: string;
  readonly version: string;
  readonly isApplied: boolean;
  /** `fieldValidation` of the request. */
  readonly validation: string;
}

/** The body without such fields in its spec, and the server's warning. Throws a 400, or for an apply a 500, where it refuses them. */
export function dropRenamed(body: Json, { kind, version, isApplied, validation }: WrittenBody) {
  const unknown: string[] = [];
  const known = isList(body)
    ? body.map((operation) => {
        if (!isObject(operation) || operation.value === undefined) return operation;
        const path = String(operation.path).split('/').slice(1).join('.');
        return path.startsWith('spec') ? { ...operation, value: drop(operation.value, path, unknown) } : operation;
      })
    : isObject(body) && body.spec !== undefined
      ? { ...body, spec: drop(body.spec, 'spec', unknown) }
      : body;
  const problems = unknown.map((path) => `unknown field "${path}"`).join(', ');
  if (unknown.length > 0 && isApplied)
    throw unexplained(`failed to create typed patch object: .${unknown[0]}: field not declared in schema`);
  if (unknown.length > 0 && validation === 'Strict') {
    const what = `${kind} in version "${version}" cannot be handled as a ${kind}`;
    throw badRequest(`${what}: strict decoding error: ${problems}`);
  }
  return { known, warning: unknown.length > 0 && validation !== 'Ignore' ? problems : undefined };
}

function drop(value: Json, path: string, unknown: string[]): Json {
  if (isList(value)) return value.map((element, index) => drop(element, `${path}[${index}]`, unknown));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, inner]) => {
      const at = `${path}.${field}`;
      if (renamed.test(field)) unknown.push(at);
      if (inner === undefined || renamed.test(field)) return [];
      return [[field, maps.has(field) ? inner : drop(inner, at, unknown)]];
    }),
  );
}

/** Errors of an API server: a `Status` object with a machine-readable reason. */
import type { ResourceType } from './built-in-types.ts';
import type { JsonObject } from './json.ts';

type GroupResource = Pick<ResourceType, 'group' | 'plural'>;

/** One problem with one field, as `details.causes` has it. */
export interface Cause {
  readonly reason: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueForbidden';
  readonly message: string;
  readonly field: string;
}

interface Details {
  readonly name?: string | undefined;
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly causes?: readonly Partial<Cause>[] | readonly JsonObject[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** The reason that belongs to an HTTP status. */
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  501: 'NotImplemented',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Details | undefined;

  constructor(code: number, message: string, details?: Details, reason = reasons[code] ?? 'Injected') {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): object {
    const { message, reason, details, code } = this;
    const status = 'Failure';
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status,
      message,
      reason: reason || undefined,
      details,
      code,
    };
  }
}

/** What a resource is called in messages: `leases.coordination.k8s.io`. */
const fullName = (name: string, group: string) => (group === '' ? name : `${name}.${group}`);
const nameOf = ({ group, plural }: GroupResource) => fullName(plural, group);
const detailsOf = ({ group, plural }: GroupResource, name: string): Details => ({
  name: name || undefined,
  group: group || undefined,
  kind: plural || undefined,
});

export const badRequest = (message: string) => new ApiError(400, message);

/** A body that is no object of its kind. */
export const cannotBeHandled = ({ kind, version }: Pick<ResourceType, 'kind' | 'version'>, why: string) =>
  badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);

export const notFound = (resource: GroupResource, name: string) =>
  new ApiError(404, `${nameOf(resource)} "${name}" not found`, detailsOf(resource, name));

export const noSuchResource = () => new ApiError(404, 'the server could not find the requested resource', {});

/** The path is not served. A real server answers with text. */
export class PageNotFound extends ApiError {
  constructor() {
    super(404, '404 page not found\n');
  }
}

export const alreadyExists = (resource: GroupResource, name: string) =>
  new ApiError(409, `${nameOf(resource)} "${name}" already exists`, detailsOf(resource, name), 'AlreadyExists');

export const conflict = (resource: GroupResource, name: string, why: string) =>
  new ApiError(
    409,
    `Operation cannot be fulfilled on ${nameOf(resource)} "${name}": ${why}`,
    detailsOf(resource, name),
  );

export const forbidden = (resource: GroupResource, name: string, why: string, causes?: readonly JsonObject[]) =>
  new ApiError(403, `${nameOf(resource)} "${name}" is forbidden: ${why}`, { ...detailsOf(resource, name), causes });

type GroupKind = Pick<ResourceType, 'group' | 'kind'>;

export function invalid({ group, kind }: GroupKind, name: string, causes: readonly Cause[]): ApiError {
  const problems = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  const [first = ''] = problems;
  const text = problems.length === 1 ? first : `[${problems.join(', ')}]`;
  const details = { ...detailsOf({ group, plural: kind }, name), causes };
  return new ApiError(422, `${fullName(kind, group)} "${name}" is invalid: ${text}`, details);
}

export const expired = (message: string) => new ApiError(410, message);

export const methodNotAllowed = () =>
  new ApiError(405, 'the server does not allow this method on the requested resource', {});

export const unsupportedMediaType = (accepted: readonly string[]) =>
  new ApiError(
    415,
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

/** An internal error, for which Kubernetes has no reason. */
export const unexplained = (message: string) => new ApiError(500, message, undefined, '');

/** A feature of real API servers that this one lacks. */
export const notImplemented = (what: string) => new ApiError(501, `FakeCluster does not do this: ${what}`);

const causeOf = (reason: Cause['reason'], message: string, field: string): Cause => ({ reason, message, field });

export const cause = {
  invalid: (field: string, value: unknown, detail: string) =>
    causeOf('FieldValueInvalid', `Invalid value: ${JSON.stringify(value)}: ${detail}`, field),
  required: (field: string, detail: string) => causeOf('FieldValueRequired', `Required value: ${detail}`, field),
  forbidden: (field: string, detail: string) => causeOf('FieldValueForbidden', `Forbidden: ${detail}`, field),
};

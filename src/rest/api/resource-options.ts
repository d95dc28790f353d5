/** The options of `config.resource`, and of the calls of a `ResourceClient`. */
import { z } from 'zod';
import { checkArgument } from '../../errors/index.ts';
import { kindShape, signal, text } from '../../options/option-schemas.ts';

/** The objects of one kind. */
export interface ResourceOptions {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Leave it out for kinds without namespaces, to list the objects of all namespaces, and where each object names its own. */
  readonly namespace?: string | undefined;
  /**
   * Who owns the fields that this client sets: a name for each controller. Two that apply under one name take each other's fields away.
   *
   * @default none: `apply` needs one, and for other writes the server takes `clusterprofile-credentials`
   */
  readonly fieldManager?: string | undefined;
  /**
   * What the server does with unknown and duplicate fields of a written object: `Strict` refuses them, with a 400; `Warn` drops them with a
   * warning, which is logged; `Ignore` drops them.
   *
   * @default `Warn`, the server's default
   */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined;
}

/** Options of `get`. */
export interface GetOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of `list`. */
export interface ListOptions {
  readonly signal?: AbortSignal | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Objects of a page. @default all */
  readonly limit?: number | undefined;
  /** Of the page before: `list.metadata.continue`. */
  readonly continue?: string | undefined;
  /** `0`: what the server has in its cache, which may be stale. @default the newest state */
  readonly resourceVersion?: string | undefined;
}

/** Options of `create`. */
export interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** @default the one of the resource */
  readonly fieldManager?: string | undefined;
  /** The server checks and answers, and stores nothing. @default false */
  readonly dryRun?: boolean | undefined;
}

/** Options of `replace`. */
export interface ReplaceOptions extends WriteOptions {
  /** Writes the status. @default the object without its status */
  readonly subresource?: 'status' | undefined;
}

/** Options of `apply` and `applyStatus`. */
export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from other managers, if these would be a conflict (409). Controllers set it. @default false */
  readonly force?: boolean | undefined;
}

/** Options of `patch`. */
export interface PatchOptions extends ReplaceOptions {
  /** `merge`: JSON merge patch. `json`: a list of operations. `strategic`: strategic merge patch, for built-in kinds. @default merge */
  readonly type?: 'merge' | 'json' | 'strategic' | undefined;
}

/** Options of `delete`. */
export interface DeleteOptions {
  readonly signal?: AbortSignal | undefined;
  /** Deletes only this object, in this version. Else the server refuses with 409. */
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  /** What happens to the objects that this one owns. @default the kind's */
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  /** @default the object's */
  readonly gracePeriodSeconds?: number | undefined;
  /** @default false */
  readonly dryRun?: boolean | undefined;
}

/** One operation of a JSON patch (RFC 6902). */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  /** A JSON pointer: `/metadata/labels/app.kubernetes.io~1name`. */
  readonly path: string;
  readonly from?: string | undefined;
  readonly value?: unknown | undefined;
}

/** A page of objects. */
export interface ResourceList<T> {
  readonly metadata: {
    readonly resourceVersion: string;
    /** The next page, if there is one. */
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

const fieldManager = text('the name of a field manager').optional();
const zeroOrMore = { error: 'must be a whole number of 0 or more' };
const wholeNumber = z.int(zeroOrMore).min(0, zeroOrMore).optional();
const flag = z.boolean({ error: 'must be true or false' }).optional();
const anyText = z.string({ error: 'must be text' }).optional();
const oneOf = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` }).optional();

/** @internal */
export const resourceSchema = z.strictObject({
  ...kindShape,
  fieldManager,
  fieldValidation: oneOf(['Strict', 'Warn', 'Ignore']),
});

const write = { signal, fieldManager, dryRun: flag };
const replace = { ...write, subresource: oneOf(['status']) };

/** @internal Of each call. */
export const callSchemas = {
  get: z.strictObject({ signal }),
  list: z.strictObject({
    signal,
    labelSelector: anyText,
    fieldSelector: anyText,
    limit: wholeNumber,
    continue: anyText,
    resourceVersion: anyText,
  }),
  create: z.strictObject(write),
  replace: z.strictObject(replace),
  apply: z.strictObject({ ...write, force: flag }),
  patch: z.strictObject({ ...replace, type: oneOf(['merge', 'json', 'strategic']) }),
  delete: z.strictObject({
    signal,
    preconditions: z
      .strictObject(
        { uid: anyText, resourceVersion: anyText },
        { error: 'must be an object: { uid, resourceVersion }' },
      )
      .optional(),
    propagationPolicy: oneOf(['Orphan', 'Background', 'Foreground']),
    gracePeriodSeconds: wholeNumber,
    dryRun: flag,
  }),
};

/** Neither another path nor, if it is empty, all objects. */
const isName = (value: unknown) =>
  typeof value === 'string' && /^[!-~]+$/.test(value) && !/[/%?#]|^\.{1,2}$/.test(value);

/** @internal */
export function checkName(where: string, what: string, name: unknown): void {
  checkArgument(where, what, name, isName, 'the name of an object');
}

/** The form in which a client wants objects: whole, or their metadata only (PartialObjectMetadata). */

import type { Request } from './http.ts';
import { isList, isObject, type JsonObject } from './json.ts';
import { ApiError, notImplemented } from './status.ts';

export type Form = 'whole' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

const json = 'application/json';
const others = ['application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'];
const apiVersion = 'meta.k8s.io/v1';

/** What the header `Accept` asks for. Throws a 406 for a client that does not accept JSON, or a 501 for what only a real server has. */
export function formOf(request: Request): Form {
  const accept = String(request.headers.accept ?? '');
  if (accept.trim() === '') return 'whole';
  let notDone = '';
  for (const part of accept.split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    const as = parameters.find((parameter) => parameter.startsWith('as='));
    if (![json, '*/*', 'application/*'].includes(type)) {
      if (others.includes(type)) notDone = type;
    } else if (as === undefined) {
      return 'whole';
    } else {
      const kind = as.slice('as='.length);
      const isMetadata = kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList';
      if (isMetadata && parameters.includes('g=meta.k8s.io') && parameters.includes('v=v1')) return kind;
      notDone = `${type};${as}`;
    }
  }
  if (notDone !== '') throw notImplemented(`answers in ${notDone}`);
  const message = `only the following media types are accepted: ${[json, ...others.slice(0, 2)].join(', ')}`;
  throw new ApiError(406, 'NotAcceptable', message, {});
}

/** An object or a list in this form. Throws a 406 for a list that is asked for as an object, or the other way round. */
export function inForm(form: Form, body: JsonObject): JsonObject {
  const { metadata, items, kind } = body;
  if (form === 'whole' || kind === 'Status') return body;
  if (form === 'PartialObjectMetadata' && items === undefined) return { kind: form, apiVersion, metadata };
  if (form === 'PartialObjectMetadata')
    throw notAcceptable(`you requested ${form}, but the requested object is a list`);
  if (!isList(items)) throw notAcceptable(`you requested ${form}, but the requested object is not a list`);
  const objects = items.filter(isObject).map((item) => inForm('PartialObjectMetadata', item));
  return { kind: form, apiVersion, metadata, items: objects };
}

const notAcceptable = (message: string) => new ApiError(406, 'NotAcceptable', message);

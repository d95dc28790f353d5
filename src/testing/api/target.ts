/** What a URL names: a resource, perhaps a namespace, perhaps one object and a subresource of it. */

import { badRequest, notImplemented } from './status.ts';

export interface Target {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** The parts of a path, decoded. Throws a 400 for a broken escape. */
export function partsOf(pathname: string): readonly string[] {
  try {
    return pathname
      .split('/')
      .filter((part) => part !== '')
      .map((part) => decodeURIComponent(part));
  } catch {
    throw badRequest(`the path ${pathname} has a broken escape`);
  }
}

/** `undefined` where the path names no resource. */
export function targetOf(parts: readonly string[]): Target | undefined {
  const [prefix, ...rest] = parts;
  if (prefix === 'api') return resourceTarget('', rest);
  if (prefix === 'apis' && rest[0] !== undefined) return resourceTarget(rest[0], rest.slice(1));
  return undefined;
}

function resourceTarget(group: string, [version, ...parts]: readonly string[]): Target | undefined {
  const [first, second, third] = parts;
  if (version === undefined || first === undefined) return undefined;
  if (first === 'watch') throw notImplemented('a watch by its path; ask for one with ?watch=true');
  // `namespaces/x/pods` names the pods of a namespace; `namespaces/x/status` is about the namespace itself.
  const within = first === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize';
  const [plural = '', name, subresource] = within ? parts.slice(2) : parts;
  return {
    group,
    version,
    plural,
    ...(within && second !== undefined ? { namespace: second } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

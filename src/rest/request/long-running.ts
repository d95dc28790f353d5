import type { Dispatcher } from 'undici';

/** Subresources whose requests may be silent for as long as they like, as kube-apiserver has them. */
const longRunning: ReadonlySet<string | undefined> = new Set(['proxy', 'exec', 'attach', 'portforward', 'log']);

/** A boolean parameter of an API server is true whatever its value, but for these two. */
const streaming = /[?&](?:watch|follow)(?:=(?!(?:false|0)(?:&|$))|&|$)/i;

/** A quick check that most paths do not pass. */
const candidate = /\/(?:proxy|exec|attach|portforward|log|watch|debug)(?:[/?]|$)/;

/**
 * Whether Kubernetes calls a request long-running: an upgrade, a watch, a followed log, or a subresource such as `exec` at the
 * place of a subresource, and not an object or a namespace of that name. `basePath` is that of the cluster's server.
 */
export function isLongRunning({ path: given, upgrade }: Dispatcher.DispatchOptions, basePath: string): boolean {
  if (upgrade) return true;
  // A caller without types may give anything.
  const path = String(given);
  if (path.includes('?') && streaming.test(path)) return true;
  return candidate.test(path) && isLongRunningPath(path.replace(/[?#].*/s, ''), basePath);
}

function isLongRunningPath(path: string, basePath: string): boolean {
  const segments = segmentsOf(path, basePath);
  if (segments[0] === 'debug' && segments[1] === 'pprof') return true;
  const { resource, name, subresource } = readApiPath(path, basePath) ?? {};
  // Forms of older versions: a verb before the resource.
  if ((resource === 'watch' || resource === 'proxy') && name !== undefined) return true;
  return name !== undefined && longRunning.has(subresource);
}

function segmentsOf(path: string, basePath: string): readonly string[] {
  const base = basePath.replace(/\/+$/, '');
  return (path.startsWith(`${base}/`) ? path.slice(base.length) : path).split('/').filter(Boolean);
}

/** What the path of a request is about. */
export interface ApiPath {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Reads the path of an object, a collection or a subresource; `undefined` for another path. */
export function readApiPath(path: string, basePath: string): ApiPath | undefined {
  const segments = segmentsOf(path.replace(/[?#].*/s, ''), basePath).map(decoded);
  const root = { api: 2, apis: 3 }[segments[0] ?? ''];
  if (root === undefined) return undefined;
  const [resource, name, subresource, ...rest] = segments.slice(root);
  if (resource === undefined) return undefined;
  const isInNamespace = resource === 'namespaces' && subresource !== undefined && !ofNamespace.has(subresource);
  return isInNamespace
    ? { resource: subresource, namespace: name, name: rest[0], subresource: rest[1] }
    : { resource, namespace: undefined, name, subresource };
}

/** Subresources of a namespace itself. */
const ofNamespace: ReadonlySet<string> = new Set(['status', 'finalize']);

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

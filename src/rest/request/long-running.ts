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
  const base = basePath.replace(/\/+$/, '');
  const segments = (path.startsWith(`${base}/`) ? path.slice(base.length) : path).split('/').filter(Boolean);
  if (segments[0] === 'debug' && segments[1] === 'pprof') return true;
  const root = { api: 2, apis: 3 }[segments[0] ?? ''];
  if (root === undefined) return false;
  let [resource, name, subresource, ...rest] = segments.slice(root);
  // Forms of older versions: a verb before the resource.
  if ((resource === 'watch' || resource === 'proxy') && name !== undefined) return true;
  if (resource === 'namespaces' && subresource !== undefined) [resource, name, subresource] = [subresource, ...rest];
  return name !== undefined && longRunning.has(subresource);
}

/** GET and POST to one API server, without client-node: loading it takes longer than everything else that most verbs do. */
import { resolve } from 'node:path';
import { type ImpersonationConfig, impersonationHeaders } from '../access/impersonation.ts';
import { type KubeconfigEntry, mergeKubeconfigs, partOf } from '../access/kubeconfig-files.ts';
import { ConfigurationError } from '../errors/index.ts';
import { readStatus } from '../rest/api/api-status.ts';
import { type KubeconfigSource, readDefault, readFiles, readKubeconfig } from '../rest/from-kubeconfig.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import { sendRequest } from '../rest/request/response.ts';
import { transientStatuses } from '../rest/request/retry.ts';
import type { ClusterFacts } from '../rest/transport/connection-errors.ts';
import { tryParseJson } from '../util/guards.ts';
import { printable } from '../util/printable.ts';

export interface Answer {
  readonly statusCode: number;
  /** An API server does not serve this resource, or has no such object. A 404 of any other server does not count. */
  readonly isNotFound: boolean;
  readonly text: string;
  /** `undefined` if it is not JSON: then the server is not an API server. */
  readonly body: unknown;
  /** Of a `Status`. */
  readonly message: string | undefined;
  /** For an answer that is no API server's: the title of its page, or where it redirects to, without a query. */
  readonly page: string | undefined;
  /** The server is overloaded, starting or going, and does not say when to ask again; if it does, the library has asked. */
  readonly mayPass: boolean;
}

/** The longest answer of a hub, in bytes: a page of 500 ClusterProfiles of the largest size. */
const maxHubBytes = 256 * 1024 * 1024;
/** Of a cluster, which is asked for small things only, and may be anybody's. */
const maxAnswerBytes = 8 * 1024 * 1024;

export class ApiClient {
  readonly dispatcher: AuthenticatedDispatcher;
  readonly #maxBytes: number;

  constructor(dispatcher: AuthenticatedDispatcher, maxBytes = maxAnswerBytes) {
    this.dispatcher = dispatcher;
    this.#maxBytes = maxBytes;
  }

  /** Its name, for messages, and its URL. */
  get cluster(): ClusterFacts {
    return this.dispatcher.cluster;
  }

  /** Rejects with an error of this package if no answer comes, and with the signal's reason. */
  async request(
    path: string,
    { signal, post }: { readonly signal: AbortSignal; readonly post?: object },
  ): Promise<Answer> {
    const { origin, basePath } = this.dispatcher;
    const accepted = { accept: 'application/json', 'accept-encoding': 'gzip' };
    const headers = post ? { ...accepted, 'content-type': 'application/json' } : accepted;
    const request = post ? { method: 'POST' as const, body: JSON.stringify(post) } : { method: 'GET' as const };
    const options = { origin, path: `${basePath}${path}`, headers, ...request };
    const answer = await sendRequest(this.dispatcher, options, signal, this.#maxBytes);
    const { statusCode } = answer;
    const { location, 'retry-after': retryAfter } = answer.headers;
    const text = answer.body.toString();
    const body = tryParseJson(text);
    // Without a group, or a version of it, an API server answers as Go does.
    const { code, message } = readStatus(body, (given, length) => this.dispatcher.shown(given, length));
    const isNotFound = statusCode === 404 && (code === 404 || text.trim() === '404 page not found');
    const mayPass = transientStatuses.has(statusCode) && retryAfter === undefined;
    const page = pageOf(statusCode, location, text);
    const shownPage = page && printable(this.dispatcher.shown(page, 200), 256);
    return { statusCode, isNotFound, text, body, message, page: shownPage, mayPass };
  }
}

/** A query may hold a secret of the login that the redirect begins. */
function pageOf(statusCode: number, location: string | undefined, text: string): string | undefined {
  if (statusCode >= 300 && statusCode < 400 && location !== undefined) return location.replace(/[?#].*$/s, '');
  return /<title[^>]*>([^<]*)/i.exec(text.slice(0, 16_384))?.[1]?.replace(/\s+/g, ' ').trim() || undefined;
}

/** One context of a kubeconfig, or the service account of the pod that this runs in. */
export type OpenedKubeconfig = ReturnType<typeof openKubeconfig>;

/** Without a source it is what kubectl would use. Throws a `ConfigurationError`. */
export function openKubeconfig(source: KubeconfigSource | undefined, context: string | undefined) {
  // Errors are thrown and shown once, so nothing is logged.
  const settings = { context, logger: { warn: () => {} } };
  const { name, namespace, destination, connections } =
    source === undefined ? readDefault(settings) : readKubeconfig(source, settings);
  return {
    /** `in-cluster` for a pod's service account. */
    context: name,
    namespace,
    /** The plugin of its user. */
    exec: destination.call?.exec,
    /** Nothing is sent before its first request. As another user, if the API server lets this one impersonate it. */
    connect: (as?: ImpersonationConfig): ApiClient => {
      if (as) {
        impersonationHeaders(as, (path, _, message) => {
          throw new ConfigurationError('OPTION_INVALID', '--as', [{ path, message }]);
        });
      }
      const to = as ? { ...destination, impersonation: as } : destination;
      return new ApiClient(new AuthenticatedDispatcher(connections, to), maxHubBytes);
    },
  };
}

/** A kubeconfig with that context alone, and absolute paths: Go's secretreader takes one file, and its current context. */
export function onlyContext(
  source: { readonly paths: readonly string[] } | { readonly text: string },
  name: string,
): string {
  const texts =
    'text' in source ? [{ text: source.text, path: undefined, directory: resolve('.') }] : readFiles(source.paths);
  const { lists } = mergeKubeconfigs(partOf(texts, name) ?? texts);
  const context = lists.contexts.get(name);
  const { cluster, user }: { cluster?: unknown; user?: unknown } = Object(context?.value);
  const [clusterEntry, userEntry] = [lists.clusters.get(String(cluster)), lists.users.get(String(user))];
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: context?.value }],
    clusters: [{ name: cluster, cluster: withAbsolutePaths(clusterEntry) }],
    users: userEntry ? [{ name: user, user: withAbsolutePaths(userEntry) }] : [],
  });
}

/** The fields that hold paths, which start from the folder of their file. */
const pathFields = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];

function withAbsolutePaths(entry: KubeconfigEntry | undefined): object {
  const value: Record<string, unknown> = { ...Object(entry?.value) };
  const absolute = (path: unknown) =>
    typeof path === 'string' && path !== '' && entry ? entry.file.inFolder(path) : path;
  for (const field of pathFields) if (field in value) value[field] = absolute(value[field]);
  const command: unknown = Object(value.exec).command;
  // A name without a slash is looked up in PATH.
  if (typeof command === 'string' && command.includes('/')) {
    value.exec = { ...Object(value.exec), command: absolute(command) };
  }
  return value;
}

/** The hub: the API server that has the ClusterProfiles. */
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type Answer,
  type ApiClient,
  adviceOn,
  at,
  CredentialsError,
  isAnonymous,
  type KubeconfigSource,
  listPath,
  longestMs,
  type OpenedKubeconfig,
  onlyContext,
  openKubeconfig,
  textAt,
} from '../diagnose/index.ts';
import { Failure } from './failure.ts';
import { durationOf, isReadOnce, kubeconfigPaths, readSource } from './input.ts';
import { hubOfUser } from './kubeconfig/entries.ts';
import { PrivateFolder } from './private-folder.ts';
import { clusterProfiles, type Resource } from './resources.ts';
import { type Call, hubContextOf, type Options } from './verb.ts';

/** Milliseconds for one answer of the hub. */
const defaultAnswerMs = 30_000;
const pageSize = 500;
/** Of a request that may pass, and of a list whose version has expired. */
const maxRetries = 3;
const maxPages = 1_000;
/** Milliseconds before the first retry; each pause is twice as long as the one before. */
const firstPauseMs = 500;

export class HubReader {
  /** That of the kubeconfig's context, which is `default` if it names none. */
  readonly namespace: string;
  /** The name of that context; `in-cluster` for a pod's service account. */
  readonly context: string;
  /** The absolute paths of the files that it is read from. */
  readonly files: readonly string[];
  readonly client: ApiClient;
  readonly #signal: AbortSignal;
  readonly #answerMs: number;

  constructor(
    { context, namespace = 'default' }: OpenedKubeconfig,
    client: ApiClient,
    files: readonly string[],
    call: Call,
  ) {
    this.client = client;
    this.namespace = namespace;
    this.context = context;
    this.files = files.map((file) => resolve(file));
    this.#signal = call.signal;
    this.#answerMs = toAnswerMs(call.options.text('request-timeout'));
  }

  get server(): string {
    return this.client.cluster.server;
  }

  /** One object, or `undefined` if there is none. */
  async find(resource: Resource, namespace: string, name: string): Promise<unknown> {
    const path = `${listPath(resource, resource, namespace)}/${encodeURIComponent(name)}`;
    const answer = await this.#get(path);
    if (answer.isNotFound) return undefined;
    return this.#checked(answer, 'get', resource, namespace);
  }

  /** The objects of a namespace, or of all. */
  async list(
    resource: Resource,
    namespace: string | undefined,
    selectors: Readonly<Record<string, string>> = {},
  ): Promise<readonly unknown[]> {
    let items: unknown[] = [];
    let next: string | undefined;
    let expired = 0;
    const read = new Set<string>();
    for (;;) {
      const place = next === undefined ? {} : { continue: next };
      const query = new URLSearchParams({ limit: String(pageSize), ...selectors, ...place });
      const answer = await this.#get(`${listPath(resource, resource, namespace)}?${query}`);
      // The version of the first page has expired while the others were read.
      if (answer.statusCode === 410 && next !== undefined && expired++ < maxRetries) {
        items = [];
        next = undefined;
        read.clear();
        continue;
      }
      const list = this.#checked(answer, 'list', resource, namespace);
      // A gateway may answer with a Status and 200.
      const found = textAt(list, 'kind') === 'Status' ? undefined : at(list, 'items');
      if (!Array.isArray(found)) throw this.#notAnApiServer();
      items.push(...found);
      next = textAt(list, 'metadata', 'continue') || undefined;
      if (next === undefined) return items;
      // A gateway that ignores the query gives the first page for ever.
      if (read.has(next)) throw this.#endless(resource, 'a page continues with one before it');
      if (read.add(next).size === maxPages) throw this.#endless(resource, `it has more than ${maxPages} pages`);
    }
  }

  #endless({ plural }: Resource, problem: string): Failure {
    return Failure.hub(
      `the hub ${this.server} does not end its list of ${plural}: ${problem}`,
      'check what is in front of the API server, or give -n or names',
    );
  }

  async #get(path: string): Promise<Answer> {
    const timeout = AbortSignal.timeout(this.#answerMs);
    try {
      const signal = AbortSignal.any([this.#signal, timeout]);
      for (let retries = 0; ; retries++) {
        const answer = await this.client.request(path, { signal });
        if (!answer.mayPass || retries === maxRetries) return answer;
        await pause(firstPauseMs * 2 ** retries, undefined, { signal });
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof CredentialsError) {
        throw Failure.hub(`the hub cannot be asked: ${error.message}`, undefined, { cause: error });
      }
      if (!timeout.aborted) throw error;
      const message = `the hub ${this.server} has not answered within ${this.#answerMs / 1_000} s`;
      throw Failure.hub(message, 'try kubectl with the same kubeconfig, or a longer --request-timeout');
    }
  }

  #checked(answer: Answer, verb: string, resource: Resource, namespace: string | undefined): unknown {
    const { statusCode, isNotFound, body, message } = answer;
    const [group = '', version = group] = resource.apiVersion.split('/');
    const full = version === group ? resource.plural : `${resource.plural}.${group}`;
    if (statusCode === 200 && body !== undefined) return body;
    const said = message === undefined ? '' : `: ${message}`;
    if (isAnonymous(answer)) {
      throw Failure.hub(
        `the credential of ${this.client.cluster.name} did not arrive at the hub ${this.server}: it took the request as system:anonymous`,
        'give the user of this context a credential; if it has one, see what drops it in front of the API server',
      );
    }
    if (statusCode === 401) {
      throw Failure.hub(
        `the hub ${this.server} refuses the credential of ${this.client.cluster.name}${said}`,
        'log in again, or choose another --kubeconfig or --context',
      );
    }
    if (statusCode === 403) {
      const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
      throw Failure.hub(
        `the hub ${this.server} does not let you ${verb} ${full} ${where}${said}`,
        `ask for the verb ${verb} on ${full} ${where}, or choose another namespace with -n`,
      );
    }
    // A 404 for a list means that the resource is not served: a list without objects is empty.
    if (isNotFound) {
      throw Failure.hub(
        `the hub ${this.server} does not know ${full} ${version}`,
        resource === clusterProfiles
          ? `is it the hub? If so, install the CRD: kubectl apply -f ${crdPath}`
          : 'check whether this is the hub that you mean',
      );
    }
    if (body === undefined && statusCode !== 429) throw this.#notAnApiServer(statusCode);
    throw Failure.hub(`the hub ${this.server} answers with status ${statusCode}${said}`, adviceOn(statusCode));
  }

  #notAnApiServer(statusCode?: number): Failure {
    const status = statusCode === undefined ? '' : ` (status ${statusCode})`;
    return Failure.hub(
      `${this.server} does not answer as a Kubernetes API server does${status}`,
      'see where --kubeconfig and --context lead',
    );
  }
}

// Of the built program: dist/chunks/program-clusterprofile/x.js.
const crdPath = fileURLToPath(new URL('../../../crds/multicluster.x-k8s.io_clusterprofiles.yaml', import.meta.url));

let opened: Promise<HubReader> | undefined;

/**
 * The hub of this process's call: by `--kubeconfig` and `--context`; else what kubectl would use. It stays open until the process
 * ends. Rejects with a `ConfigurationError`.
 */
export function openHub(call: Call): Promise<HubReader> {
  opened ??= open(call);
  return opened;
}

/**
 * The hub that plugins read if the ClusterProfiles come from files. Without `--kubeconfig` and `--context` there may be none, and a
 * kubeconfig that cannot be read is the matter of the plugins that need it.
 */
export async function hubOfPlugins(call: Call): Promise<HubReader | undefined> {
  const { options } = call;
  const isNamed = ['kubeconfig', 'context'].some((name) => options.text(name) !== undefined);
  try {
    return await openHub(call);
  } catch (error) {
    if (isNamed) throw error;
    return undefined;
  }
}

async function open(call: Call): Promise<HubReader> {
  const { options, signal, verb } = call;
  const as = impersonated(options);
  const path = options.text('kubeconfig');
  const context = options.text(hubContextOf(verb));
  const source = path === undefined ? undefined : await sourceOf(path, signal);
  let found = openKubeconfig(source, context);
  let files = found.context === 'in-cluster' ? [] : kubeconfigPaths(path);
  const written = context === undefined ? hubOfUser(found.exec) : undefined;
  if (written) {
    // A context that this program wrote is current: the cluster's own, which knows no ClusterProfiles.
    files = written.files ?? files;
    if (written.context === undefined || files.length === 0) {
      const message = `the current context ${found.context} is one that this program wrote for a cluster, and it does not name the hub`;
      throw Failure.configuration(message, 'name the hub with --context, and its file with --kubeconfig');
    }
    found = openKubeconfig({ paths: files }, written.context);
  }
  const text = source !== undefined && 'text' in source && !written ? source.text : undefined;
  // Plugins read KUBECONFIG and its current context, as Go's secretreader does: without this the Secret of another hub would go to a cluster
  // of this one. A copy of that context alone also keeps the hub of a long call if the current context changes.
  if (verb.runsPlugins && (files.length > 0 || text !== undefined)) {
    const copy = onlyContext(text === undefined ? { paths: files } : { text }, found.context);
    process.env.KUBECONFIG = new PrivateFolder().writeSecret('kubeconfig', copy);
  }
  return new HubReader(found, found.connect(as), files, call);
}

/** A group without a user would be an impersonation that API servers ignore. */
function impersonated(options: Options) {
  const [user, groups] = [options.text('as'), options.texts('as-group')];
  if (user !== undefined) return { user, groups };
  if (groups.length === 0) return undefined;
  throw Failure.usage('--as-group needs --as', 'name the user too');
}

/** kubectl takes seconds without a unit, and 0 for no limit. */
function toAnswerMs(timeout: string | undefined): number {
  if (timeout === undefined) return defaultAnswerMs;
  if (/^0s?$/.test(timeout)) return longestMs;
  return durationOf('--request-timeout', timeout.replace(/^\d+$/, '$&s'));
}

/** A read of a pipe has to end with Ctrl-C. */
async function sourceOf(path: string, signal: AbortSignal): Promise<KubeconfigSource> {
  return isReadOnce(path) ? { text: await readSource(path, signal), directory: '.' } : { path };
}

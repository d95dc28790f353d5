import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { gzipSync } from 'node:zlib';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

interface Namespace {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly object: object;
}

/** Kubernetes itself compresses what is larger. */
const gzipFrom = 128 * 1024;
const longestBody = 8 * 1024 * 1024;

/** A `Status` object, which is how an API server says that something went wrong. */
export function sendStatus(response: Response, code: number, reason: string, message: string): void {
  send(response, code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
}

function send(response: Response, code: number, body: object, gzip = false): void {
  const json = Buffer.from(JSON.stringify(body));
  response.statusCode = code;
  response.setHeader('content-type', 'application/json');
  if (gzip && json.length >= gzipFrom) {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(json));
  } else {
    response.end(json);
  }
}

/** Namespaces that can be listed, read, created, deleted and watched, and what a client asks a server about itself. */
export class KubernetesApi {
  readonly #name: string;
  readonly #namespaces = new Map<string, Namespace>();
  readonly #events: WatchEvent[] = [];
  readonly #watches = new Set<(event: WatchEvent) => void>();
  #version = 0;

  constructor(name: string, namespaces: readonly string[]) {
    this.#name = name;
    for (const namespace of namespaces) this.change('ADDED', namespace, {});
  }

  change(type: WatchEvent['type'], name: string, labels: Readonly<Record<string, string>>): Namespace {
    this.#version += 1;
    const uid = this.#namespaces.get(name)?.metadata.uid ?? `uid-${this.#version}`;
    const namespace = { metadata: { name, uid, resourceVersion: String(this.#version), labels } };
    if (type === 'DELETED') this.#namespaces.delete(name);
    else this.#namespaces.set(name, namespace);
    const event = { type, version: this.#version, object: { kind: 'Namespace', apiVersion: 'v1', ...namespace } };
    this.#events.push(event);
    for (const tell of this.#watches) tell(event);
    return namespace;
  }

  answer(request: Request, response: Response, url: string, identity: string): void {
    const parsed = URL.parse(`https://localhost${url}`);
    if (!parsed) return sendStatus(response, 400, 'BadRequest', 'the path is not a URL');
    const { pathname, searchParams } = parsed;
    const method = request.method ?? 'GET';
    const gzip = /\bgzip\b(?!;q=0(?:[,;]|$))/.test(String(request.headers['accept-encoding'] ?? ''));
    const name = /^\/api\/v1\/namespaces\/([^/]+)$/.exec(pathname)?.[1];
    switch (`${method} ${name === undefined ? pathname : '/api/v1/namespaces/*'}`) {
      case 'GET /version':
        return send(response, 200, { major: '1', minor: '36', gitVersion: `v1.36.0+${this.#name}` });
      case 'GET /readyz':
        response.setHeader('content-type', 'text/plain');
        response.end('ok');
        return;
      case 'GET /api':
        return send(response, 200, { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
      case 'GET /apis':
        return send(response, 200, { kind: 'APIGroupList', apiVersion: 'v1', groups: [] });
      case 'GET /api/v1':
        return send(response, 200, {
          kind: 'APIResourceList',
          groupVersion: 'v1',
          resources: [
            { name: 'namespaces', singularName: '', namespaced: false, kind: 'Namespace', verbs: ['get', 'list'] },
          ],
        });
      case 'GET /api/v1/namespaces':
        if (['true', '1'].includes(searchParams.get('watch') ?? '')) return this.#watch(response, searchParams);
        return send(response, 200, this.#list(), gzip);
      case 'GET /api/v1/namespaces/*':
        return this.#get(response, name ?? '');
      case 'POST /api/v1/namespaces':
        return readJson(request, response, (body) => this.#create(response, body));
      case 'PATCH /api/v1/namespaces/*':
        return readJson(request, response, (body) => this.#patch(request, response, name ?? '', body));
      case 'DELETE /api/v1/namespaces/*':
        return this.#delete(response, name ?? '');
      case 'GET /api/v1/namespaces/default/pods':
        return send(response, 200, {
          kind: 'PodList',
          apiVersion: 'v1',
          metadata: { resourceVersion: '1' },
          items: [],
        });
      case 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews':
        return readJson(request, response, () =>
          send(response, 201, {
            kind: 'SelfSubjectReview',
            apiVersion: 'authentication.k8s.io/v1',
            metadata: {},
            status: { userInfo: { username: identity, groups: ['system:authenticated'] } },
          }),
        );
      default:
        return sendStatus(response, 404, 'NotFound', `the server could not find ${method} ${pathname}`);
    }
  }

  #list(): object {
    return {
      kind: 'NamespaceList',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(this.#version) },
      items: [...this.#namespaces.values()],
    };
  }

  #get(response: Response, name: string): void {
    const namespace = this.#namespaces.get(name);
    if (namespace) send(response, 200, { kind: 'Namespace', apiVersion: 'v1', ...namespace });
    else sendStatus(response, 404, 'NotFound', `namespaces "${name}" not found`);
  }

  #create(response: Response, body: unknown): void {
    const metadata: unknown = isObject(body) ? Reflect.get(body, 'metadata') : undefined;
    const name: unknown = isObject(metadata) ? Reflect.get(metadata, 'name') : undefined;
    if (typeof name !== 'string' || name === '') sendStatus(response, 422, 'Invalid', 'metadata.name is required');
    else if (this.#namespaces.has(name))
      sendStatus(response, 409, 'AlreadyExists', `namespaces "${name}" already exists`);
    else
      send(response, 201, { kind: 'Namespace', apiVersion: 'v1', ...this.change('ADDED', name, labelsOf(metadata)) });
  }

  /** A merge of labels; server-side apply (its YAML has to be JSON here) creates what is not there. */
  #patch(request: Request, response: Response, name: string, body: unknown): void {
    const apply = request.headers['content-type'] === 'application/apply-patch+yaml';
    const before = this.#namespaces.get(name);
    if (!before && !apply) return this.#get(response, name);
    const labels = { ...before?.metadata.labels, ...labelsOf(isObject(body) ? Reflect.get(body, 'metadata') : {}) };
    const namespace = this.change(before ? 'MODIFIED' : 'ADDED', name, labels);
    send(response, before ? 200 : 201, { kind: 'Namespace', apiVersion: 'v1', ...namespace });
  }

  #delete(response: Response, name: string): void {
    if (!this.#namespaces.has(name)) return this.#get(response, name);
    this.change('DELETED', name, {});
    send(response, 200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
  }

  /** What a watch starts with: the changes after a version, or without one everything that is there. */
  #since(version: string | null): readonly WatchEvent[] {
    if (version) return this.#events.filter((event) => event.version > Number(version));
    return [...this.#namespaces.values()].map((namespace) => addedEvent(namespace));
  }

  #watch(response: Response, parameters: URLSearchParams): void {
    const tell = ({ type, object }: WatchEvent) => {
      writeTo(response, `${JSON.stringify({ type, object })}\n`);
    };
    response.statusCode = 200;
    response.setHeader('content-type', 'application/json');
    if ('flushHeaders' in response) response.flushHeaders();
    for (const event of this.#since(parameters.get('resourceVersion'))) tell(event);
    this.#watches.add(tell);
    response.on('close', () => this.#watches.delete(tell));
  }
}

/** The two kinds of response differ in their overloads, not in what they do with text. */
function writeTo(response: Response, text: string): void {
  if ('stream' in response) response.write(text);
  else response.write(text);
}

function addedEvent(namespace: Namespace): WatchEvent {
  const version = Number(namespace.metadata.resourceVersion);
  return { type: 'ADDED', version, object: { kind: 'Namespace', apiVersion: 'v1', ...namespace } };
}

function labelsOf(metadata: unknown): Readonly<Record<string, string>> {
  const labels: unknown = isObject(metadata) ? Reflect.get(metadata, 'labels') : undefined;
  const entries = isObject(labels) ? Object.entries(labels) : [];
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string'));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function readJson(request: Request, response: Response, use: (body: unknown) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= longestBody) chunks.push(chunk);
  });
  request.on('end', () => {
    if (size > longestBody) return sendStatus(response, 413, 'RequestEntityTooLarge', 'the body is over 8 MiB');
    let body: unknown;
    try {
      body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
      return sendStatus(response, 400, 'BadRequest', 'the body is not JSON');
    }
    use(body);
  });
}

/** The stages of a check that need the cluster: its plugin, its proxy, its server. */
import { TLSSocket } from 'node:tls';
import { PluginError, RequestError } from '../errors/index.ts';
import type { Credential } from '../exec/credential.ts';
import { findExecutable } from '../exec/executable.ts';
import { failure } from '../exec/plugin-outcome.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import type { Connections } from '../rest/transport/connections.ts';
import { parseProxy, proxyUrlFor } from '../rest/transport/proxy.ts';
import { openTunnel } from '../rest/transport/tunnel.ts';
import { abortable } from '../util/abortable.ts';
import { isString } from '../util/guards.ts';
import { printable } from '../util/printable.ts';
import { adviceOn, isAnonymous, notAnApiServer, refuseUnavailable } from './answers.ts';
import { type Answer, ApiClient } from './api-client.ts';
import { describeGiven, describeRefused, describeServerCertificate } from './credential-facts.ts';
import { checkPermissions, type Right } from './permissions.ts';
import type { destinationOf } from './plugin-run.ts';
import { listAt, type Profile, textAt } from './profile.ts';
import { type Found, StageFailure, type StageName, type Step } from './stages.ts';

/** Milliseconds for the proxy, as the library has it. */
const connectMs = 10_000;
/** Milliseconds that a run whose limit is over has to end. */
const afterLimitMs = 3_000;
/** The most bytes of a text that the cluster or the profile has written. */
const maxBytes = 512;

export interface ProbeOptions {
  /** What the identity has to be allowed. Without it, permissions are not looked at. */
  readonly rights?: readonly Right[] | undefined;
  readonly signal: AbortSignal;
  /** Called when a stage begins. */
  readonly onStage?: (profile: string, stage: StageName) => void;
  /** Asks for the ID of the cluster too. */
  readonly identify?: boolean | undefined;
}

export class ClusterProbe {
  readonly #destination: ReturnType<typeof destinationOf>;
  readonly #client: ApiClient;
  readonly #signal: AbortSignal;
  #credential: Credential | undefined;
  /** The answer to `authentication`. */
  #review: Answer | undefined;
  /** What the cluster has said of itself, for the report. */
  readonly facts: { version?: string; clusterId?: string } = {};

  constructor(connections: Connections, destination: ReturnType<typeof destinationOf>, signal: AbortSignal) {
    this.#destination = destination;
    this.#client = new ApiClient(new AuthenticatedDispatcher(connections, destination));
    this.#signal = signal;
  }

  /** In their order: some use what an earlier one has found. */
  stages(profile: Profile, policy: string, { rights, identify }: ProbeOptions): readonly Step[] {
    return [
      ['plugin', () => this.#getCredential(policy)],
      ['proxy', () => this.#proxy()],
      ['connection', () => this.#connect()],
      ['authentication', () => this.#authenticate()],
      ['identity', () => this.#identity()],
      ['version', () => this.#version(profile, identify)],
      ['ready', () => this.#ready()],
      ...(rights ? [['permissions', () => checkPermissions(this.#client, rights, this.#signal)] as const] : []),
    ];
  }

  /** Runs the plugin, unless another cluster's check has the same credential already. */
  async #getCredential(policy: string): Promise<Found> {
    this.#credential = await this.#own(() => this.#runPlugin());
    const { path } = await findExecutable(this.#destination.call.exec.command, process.env.PATH ?? '');
    return describeGiven(this.#credential, `${path} (policy ${policy})`, Date.now());
  }

  /** Goes through the proxy to the server, if there is one. */
  async #proxy(): Promise<Found> {
    const { cluster } = this.#destination;
    const { server, proxyUrl } = cluster;
    const text = proxyUrlFor(new URL(server), proxyUrl, process.env);
    if (text === undefined) return { message: 'none', skipped: true };
    const origin = proxyUrl === undefined ? "this machine's environment" : 'the profile';
    return this.#own(async () => {
      const proxy = parseProxy(text);
      const options = { timeoutMs: connectMs, signal: this.#signal };
      const socket = await openTunnel(proxy, cluster, options).catch((error: unknown) => {
        if (proxyUrl === undefined || !(error instanceof RequestError) || error.code !== 'PROXY_AUTH_REQUIRED')
          throw error;
        throw new StageFailure(
          `proxy ${proxy}, by the profile: requires a login (407), and a profile cannot hold one`,
          'let the proxy take this client without a login; or take proxy-url out of the profile, and set HTTPS_PROXY with user and password here',
          { code: error.code },
        );
      });
      socket.destroy();
      return { message: `${proxy}, by ${origin}` };
    });
  }

  /** One connection of its own, to see the server's certificate. */
  async #connect(): Promise<Found> {
    const { protocol, host } = new URL(this.#destination.cluster.server);
    if (protocol === 'http:') {
      return { message: `${host}, in the clear`, warnings: ['it is not encrypted: use https'] };
    }
    const credential = this.#credential;
    if (!credential) throw new StageFailure('there is no credential');
    const socket = await this.#own(() =>
      abortable(() => this.#client.dispatcher.connection().openForWebSocket(credential, this), this.#signal),
    );
    socket.on('error', () => {});
    const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
    socket.destroy();
    if (!certificate) return { message: host };
    return describeServerCertificate(certificate, this.#destination.cluster);
  }

  /** Asks the cluster for the identity of the credential. */
  async #authenticate(): Promise<Found> {
    const post = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = await this.#client.request('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      signal: this.#signal,
      post,
    });
    const { statusCode, isNotFound, message, body } = answer;
    if (statusCode === 401) {
      const { facts, advice } = describeRefused(this.#credential, this.#destination.call.exec);
      throw new StageFailure(
        `the cluster refuses the credential (401${message === undefined ? '' : `, ${message}`})${facts}`,
        advice,
      );
    }
    if (isAnonymous(answer)) throw this.#didNotArrive();
    refuseUnavailable(answer);
    // Those of an API server have a Status, also without a right.
    const isOurs = usernameOf(answer) !== undefined || isNotFound || textAt(body, 'kind') === 'Status';
    if (!isOurs) throw notAnApiServer(answer);
    this.#review = answer;
    return { message: 'the credential is accepted' };
  }

  async #identity(): Promise<Found> {
    const answer = this.#review;
    if (!answer) throw new StageFailure('there is no answer');
    const { statusCode, isNotFound, message } = answer;
    const username = usernameOf(answer);
    if (username !== undefined) {
      const groups = listAt(answer.body, 'status', 'userInfo', 'groups').filter(isString).join(', ');
      return { message: printable(`${username}${groups && ` (${groups})`}`, maxBytes) };
    }
    // SelfSubjectReview came with Kubernetes 1.28.
    if (isNotFound) return { message: 'the cluster does not support SelfSubjectReview', skipped: true };
    if (statusCode !== 403) throw notAnApiServer(answer);
    throw new StageFailure(
      `the cluster does not say who it is (status 403${message === undefined ? '' : `, ${message}`})`,
      'bind the ClusterRole system:basic-user to the identity that the plugin gives',
    );
  }

  /** What it runs, beside what its profile says. */
  async #version({ status }: Profile, identify = false): Promise<Found> {
    const answer = await this.#client.request('/version', { signal: this.#signal });
    const { statusCode, body, message } = answer;
    refuseUnavailable(answer);
    const version = textAt(body, 'gitVersion');
    if (statusCode !== 403 && (statusCode !== 200 || version === undefined)) throw notAnApiServer(answer);
    if (identify) await this.#identify();
    if (version === undefined) return { message: message ?? 'it may not be read', skipped: true };
    const reported = textAt(status, 'version', 'kubernetes');
    const differs = reported && reported.replace(/^v/, '') !== version.replace(/^v/, '');
    const warnings = differs ? [printable(`the profile says ${reported}`, maxBytes)] : [];
    this.facts.version = version;
    return { message: printable(version, maxBytes), warnings };
  }

  /** Asks the API server for its own checks. */
  async #ready(): Promise<Found> {
    const answer = await this.#client.request('/readyz?verbose', { signal: this.#signal });
    const { statusCode, text } = answer;
    const checks = [...text.matchAll(/^\[-\].*$/gm)].map(([line]) => line.replace(/: reason withheld$/, ''));
    if (checks.length > 0 || (statusCode >= 500 && answer.message === undefined)) {
      const which = checks.length > 0 ? `: ${this.#client.dispatcher.shown(checks.join(', '), maxBytes)}` : '';
      const hint = adviceOn(statusCode) ?? 'see the log of the API server';
      return {
        message: `the API server is not ready (status ${statusCode})${which}`,
        failed: { hint },
      };
    }
    refuseUnavailable(answer);
    if (statusCode === 200) return { message: 'the API server says that it is ready' };
    if (statusCode === 403 || statusCode === 404) {
      return { message: `/readyz is not to be read (status ${statusCode})`, skipped: true };
    }
    throw notAnApiServer(answer);
  }

  /** KEP-2149: the cluster's own property, else the UID of its namespace kube-system. Neither has to be readable. */
  async #identify(): Promise<void> {
    const get = async (path: string) => (await this.#client.request(path, { signal: this.#signal })).body;
    try {
      const groupVersion = textAt(await get('/apis/about.k8s.io'), 'preferredVersion', 'groupVersion');
      const property = groupVersion && (await get(`/apis/${groupVersion}/clusterproperties/cluster.clusterset.k8s.io`));
      const id =
        textAt(property, 'spec', 'value') || textAt(await get('/api/v1/namespaces/kube-system'), 'metadata', 'uid');
      if (id) this.facts.clusterId = id;
    } catch {
      // A cluster without an ID is checked all the same.
    }
  }

  /** The API server took the request, and saw no credential. */
  #didNotArrive(): StageFailure {
    const isCertificate = this.#credential?.authorization === undefined;
    return new StageFailure(
      'the credential did not arrive: the API server took the request as system:anonymous',
      isCertificate
        ? 'what is in front of the API server ends TLS, and the client certificate with it: let it pass TCP through, or use a token. Grant nothing to system:anonymous'
        : 'what is in front of the API server drops the Authorization header: have the load balancer or gateway pass it on, or TCP through. Grant nothing to system:anonymous',
    );
  }

  async close(): Promise<void> {
    await this.#client.dispatcher.close();
  }

  async #runPlugin(): Promise<Credential> {
    const { source } = this.#client.dispatcher.connection();
    const running = (async () => source.get(this.#client.dispatcher.log))();
    try {
      return await abortable(() => running, this.#signal);
    } catch (error) {
      if (!isTimeout(this.#signal.reason)) throw error;
    }
    // The limit of the run began a little later, and its error has what the plugin wrote.
    try {
      return await abortable(() => running, AbortSignal.timeout(afterLimitMs));
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const reason = 'gave no answer in time: it waits for this terminal, or behind other plugins that hang';
      throw failure(this.#destination.call, 'PLUGIN_TIMEOUT', reason);
    }
  }

  /** Translates errors of Node and of the library as a controller sees them. */
  async #own<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PluginError)) this.#signal.throwIfAborted();
      throw error instanceof StageFailure ? error : this.#client.dispatcher.toOwnError(error);
    }
  }
}

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === 'TimeoutError';

function usernameOf({ statusCode, body }: Answer): string | undefined {
  return statusCode === 201 ? textAt(body, 'status', 'userInfo', 'username') : undefined;
}

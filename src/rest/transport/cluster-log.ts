/** The log of one cluster: every line names it, and each kind of problem is logged once. */
import type { Dispatcher } from 'undici';
import {
  type ClusterOfError,
  ConfigurationError,
  ConnectionError,
  PluginError,
  RequestError,
  type RequestErrorCode,
} from '../../errors/index.ts';
import type { Credential } from '../../exec/credential.ts';
import type { Asker, SourceWarning } from '../../exec/credential-source.ts';
import type { Logger } from '../../observability/logger.ts';
import { emit, type Observer } from '../../observability/telemetry.ts';
import type { Subject, Warning, WarningKind, WarningLimiter } from '../../observability/warning-limiter.ts';
import { hideWholeSecrets } from '../../redaction/known-secrets.ts';
import { readHeaders, requestName } from './wire-request.ts';

export interface LogOptions {
  readonly logger: Logger;
  readonly warnings: WarningLimiter;
  readonly observer?: Observer | undefined;
}

export class ClusterLog implements Asker {
  readonly cluster: ClusterOfError;
  /** The access type. */
  readonly #provider: string;
  readonly #subject: Subject;
  readonly #options: LogOptions;
  readonly #secrets: () => readonly string[];
  #rejection: string | undefined;

  /** `secrets` gives what the cluster has been sent. */
  constructor(cluster: ClusterOfError, provider: string, options: LogOptions, secrets: () => readonly string[]) {
    this.#secrets = secrets;
    const { name, profile, server } = cluster;
    this.cluster = cluster;
    this.#provider = provider;
    this.#options = options;
    const fields = { ...(profile === undefined ? { cluster: name } : { profile }), server, provider };
    this.#subject = { name: `${name} ${server}`, fields };
  }

  debug(message: string, more: object = {}): void {
    const { logger } = this.#options;
    // The path of a request may come from a redirect, and hold what the server was sent.
    logger.debug?.({ ...this.#subject.fields, ...more }, hideWholeSecrets(this.#line(message), this.#secrets()));
  }

  /** What a preview would have changed: the one thing that its user wants to see. */
  previewed(message: string, logger = this.#options.logger): void {
    const line = hideWholeSecrets(this.#line(message), this.#secrets());
    if (logger.info) logger.info(this.#subject.fields, line);
    else logger.warn(this.#subject.fields, line);
  }

  /** An error that a caller is given. `more` are fields of the request. */
  failed(error: Error, more: object = {}): void {
    const { warnings } = this.#options;
    const subject = { ...this.#subject, fields: { ...this.#subject.fields, ...more } };
    if (error instanceof PluginError) {
      if (error.code !== 'PLUGIN_STOPPED') warnings.add(subject, 'credential', error);
    } else if (error instanceof ConfigurationError) {
      this.problem('credential', { code: error.code, message: error.message }, more);
    } else if (error instanceof ConnectionError || (error instanceof RequestError && error.code.startsWith('PROXY_'))) {
      warnings.add(subject, 'connection', error);
    }
  }

  /** A request was refused by a rule. Attacks must not be invisible. `target` is a path without its query, or an origin. */
  refused(error: RequestError, target: string): void {
    const code: RequestErrorCode = error.code;
    const { observer, warnings } = this.#options;
    const { name, profile = name } = this.cluster;
    emit(observer, 'access-refused', { provider: this.#provider, profile, code, path: target });
    const message = error.message.includes(target) ? error.message : `${error.message} (${target})`;
    warnings.add(this.#subject, 'refusal', { code, key: `${code} ${target}`, message });
  }

  hasCredential(found: readonly SourceWarning[]): void {
    const { warnings } = this.#options;
    this.cleared('credential', 'there is a credential again');
    for (const kind of ['refresh', 'clock'] as const) {
      const ofKind = found.filter((warning) => warning.kind === kind);
      warnings.set(this.#subject, kind, ofKind.map(this.#withName));
    }
  }

  refreshFailed(warning: SourceWarning): void {
    this.#rejection = warning.message;
    this.#options.warnings.set(this.#subject, warning.kind, [this.#withName(warning)]);
  }

  answered(): void {
    this.cleared('connection', 'the server answers again');
  }

  accepted(): void {
    this.#rejection = undefined;
    this.cleared('rejection', 'the server takes the credential again');
  }

  /** Which request was answered with an error, and for a 401 why, as far as that is known: for a caller's error. */
  explain(statusCode: number, request: Dispatcher.DispatchOptions): string {
    const isOurs = statusCode === 401 && !readHeaders(request.headers).authorization;
    const why = isOurs && this.#rejection !== undefined ? `: ${this.#rejection}` : '';
    return this.#line(`${requestName(request)} was answered with ${statusCode}${why}`);
  }

  /** The server still refuses the credential. Not logged without one: anonymous requests may well be refused. */
  rejected(credential: Credential | undefined, statusCode: number, consequence: string): void {
    if (!credential?.authorization && !credential?.keyPair) return;
    const { keyPair } = credential;
    const why =
      keyPair && keyPair.endsAt < Date.now()
        ? `its client certificate has expired (at ${new Date(keyPair.endsAt).toISOString()}): see why it is not renewed`
        : 'check whether the server knows its issuer and audience';
    const message = `the server refuses the credential (${statusCode}), ${consequence}: ${why}`;
    this.#rejection ??= message;
    // Its refresh has failed, and has been warned about.
    if (this.#options.warnings.has(this.#subject, 'refresh')) this.debug(message);
    else this.problem('rejection', { message });
  }

  /** Warns about a problem, whose message gets the cluster's name. `more` are fields of the request. */
  problem(kind: WarningKind, warning: Warning, more: object = {}): void {
    const subject = { ...this.#subject, fields: { ...this.#subject.fields, ...more } };
    this.#options.warnings.add(subject, kind, this.#withName(warning));
  }

  /** The problem is over. Called for every response, and mostly with nothing to clear: a line is made only for the log. */
  cleared(kind: WarningKind, message: string): void {
    const { warnings } = this.#options;
    if (warnings.has(this.#subject, kind)) warnings.clear(this.#subject, kind, this.#line(message));
  }

  readonly #withName = ({ message, ...warning }: Warning) => ({ ...warning, message: this.#line(message) });

  #line(message: string): string {
    return `${this.cluster.name}, ${this.cluster.server}: ${message}`;
  }
}

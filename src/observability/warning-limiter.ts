/**
 * The one place that decides whether a problem is warned about: each kind of problem of each cluster once, and again when it has
 * cleared and come back. Problems come in, a line of the log goes out, or none.
 */
import { LeakyBucket } from '../util/backoff.ts';
import type { Logger } from './logger.ts';

/** Problems of one kind are cleared by the same event. */
export type WarningKind =
  /** There is no credential. Cleared by the next one. */
  | 'credential'
  /** A refresh failed, and the credential from before stays in use. Cleared by the next one. */
  | 'refresh'
  /** The plugin's answer had expired when it came. Cleared by one that has not. */
  | 'clock'
  /** The server refuses the credential. Cleared by an answer other than 401. */
  | 'rejection'
  /** There is no connection. Cleared by any answer. */
  | 'connection'
  /** The file of the authority cannot be read again. Cleared when it can. */
  | 'authority'
  /** A watch could not start. Cleared by the next one that does. */
  | 'watch'
  /** A cluster of a fleet cannot be engaged. Cleared when it is. */
  | 'engagement'
  /** A Lease cannot be read or written. Cleared by the next request that succeeds. */
  | 'lease'
  /** Another process has the identity of this one. */
  | 'identity'
  /** The profile asks for something that it does not get. Cleared when it no longer does. */
  | 'ignored'
  /** The same, if only the plugin's run shows it. */
  | 'left out'
  /** A request was refused. An event: cleared by time alone. */
  | 'refusal'
  /** The program's own code threw. An event too. */
  | 'caller'
  /** A reconcile of an object fails; `key` is the object. Cleared by one that succeeds. */
  | 'reconcile'
  /** The caches of a controller have not seen what it wrote. Cleared when they have. */
  | 'cache'
  /** An event about an object cannot be written. Cleared by the next one that is. */
  | 'event'
  /** The server warned about a request: each text once. */
  | 'server'
  /** Other users could replace a plugin. */
  | 'plugin file'
  /** The images that a provider gave no credential for. */
  | 'image'
  /** A plugin's answer has a login that is for no image. Cleared by an answer that has none. */
  | 'image key';

/** What a problem belongs to, for the line of the log. */
export interface Subject {
  /** Distinguishes subjects. */
  readonly name: string;
  readonly fields: object;
}

export interface Warning {
  /** Of an error: it is logged as a field. */
  readonly code?: string;
  /** Distinguishes problems of one kind and code: each is warned about by itself. */
  readonly key?: string;
  readonly message: string;
}

/** Warnings that one kind of problem of one subject may have at once, however often it comes and goes; then one a minute. */
const warningsAtOnce = 5;
const minuteMs = 60_000;
/** Subjects that are remembered. Of more, the oldest are warned about once again. */
const maxSubjects = 20_000;
/** Different problems of one kind that are remembered. */
const maxKeys = 500;

/** Kinds that happen, and do not last: each is warned about once a minute. */
const events: ReadonlySet<WarningKind> = new Set<WarningKind>(['refusal', 'caller']);

/** Kinds of which one subject may have many at the same time: each is warned about. */
const many: ReadonlySet<WarningKind> = new Set<WarningKind>(['ignored', 'left out', 'reconcile', 'server']);

/** A problem can be active without a warning: a flapping one is mostly not logged. */
interface State {
  /** The active problems by their keys: when each was logged, `undefined` if it was not. */
  readonly active: Map<string, number | undefined>;
  readonly recent: LeakyBucket;
}

const keyOf = ({ code, key = code ?? '' }: Warning) => key;

export class WarningLimiter {
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #subjects = new Map<string, Map<WarningKind, State>>();

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: () => number }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** A problem is active. Over the limit, it is logged as soon as the limit allows it. Returns false if it is known already. */
  add(subject: Subject, kind: WarningKind, warning: Warning): boolean {
    const { code, message } = warning;
    const key = keyOf(warning);
    const fields = { ...subject.fields, ...(code === undefined ? {} : { code }) };
    const { active, recent } = this.#stateOf(subject.name, kind);
    const now = this.#clock();
    const loggedAt = active.get(key);
    if (loggedAt !== undefined && !(events.has(kind) && Math.abs(now - loggedAt) >= minuteMs)) return false;
    const isNew = !active.has(key);
    const atOnce = many.has(kind) ? maxKeys : warningsAtOnce;
    const isAllowed = recent.level(now) <= atOnce - 1;
    const [oldest] = active.keys();
    if (isNew && active.size >= maxKeys && oldest !== undefined) active.delete(oldest);
    active.set(key, isAllowed ? now : undefined);
    if (isAllowed) {
      recent.add(now, atOnce);
      this.#logger.warn(fields, message);
    } else if (isNew || events.has(kind)) {
      this.#logger.debug?.(fields, `${message} (flapping: it is warned about once a minute)`);
    }
    return true;
  }

  /** All active problems of this kind: what is not listed has cleared. */
  set(subject: Subject, kind: WarningKind, warnings: readonly Warning[]): void {
    const active = this.#subjects.get(subject.name)?.get(kind)?.active;
    if (active && active.size > 0) {
      const keys = new Set(warnings.map(keyOf));
      for (const key of active.keys()) if (!keys.has(key)) active.delete(key);
    }
    for (const warning of warnings) this.add(subject, kind, warning);
  }

  /** Whether a problem of this kind is active. */
  has({ name }: Subject, kind: WarningKind): boolean {
    return (this.#subjects.get(name)?.get(kind)?.active.size ?? 0) > 0;
  }

  /** One problem of this kind has cleared. */
  clearOne({ name }: Pick<Subject, 'name'>, kind: WarningKind, key: string): void {
    this.#subjects.get(name)?.get(kind)?.active.delete(key);
  }

  /** The problems of this kind have cleared. `message` says so, at info, if one of them was logged. */
  clear(subject: Subject, kind: WarningKind, message?: string): void {
    const active = this.#subjects.get(subject.name)?.get(kind)?.active;
    if (!active || active.size === 0) return;
    const wasLogged = [...active.values()].some((loggedAt) => loggedAt !== undefined);
    active.clear();
    if (wasLogged && message !== undefined) this.#logger.info?.(subject.fields, message);
  }

  #stateOf(name: string, kind: WarningKind): State {
    let kinds = this.#subjects.get(name);
    if (!kinds) {
      const [oldest] = this.#subjects.keys();
      if (this.#subjects.size >= maxSubjects && oldest !== undefined) this.#subjects.delete(oldest);
      kinds = new Map();
      this.#subjects.set(name, kinds);
    }
    let state = kinds.get(kind);
    if (!state) {
      state = { active: new Map(), recent: new LeakyBucket(minuteMs) };
      kinds.set(kind, state);
    }
    return state;
  }
}

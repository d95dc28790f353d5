/**
 * The one place that decides whether a trouble is warned about: each kind of trouble of each cluster once, and again when it has
 * passed and come back. What happens comes in, a line of the log goes out, or none.
 */
import { SinkingCount } from './exec/backoff.ts';
import type { Logger } from './logger.ts';

/** A kind of trouble is what one and the same event ends. */
export type TroubleKind =
  /** There is no credential. Ends with the next one. */
  | 'credential'
  /** A refresh failed, and the credential from before serves on. Ends with the next one. */
  | 'refresh'
  /** The plugin's answer had expired when it came. Ends with one that has not. */
  | 'clock'
  /** The server refuses the credential. Ends with an answer other than 401. */
  | 'rejection'
  /** There is no connection. Ends with any answer. */
  | 'connection'
  /** A watch could not begin. Ends with one that has begun. */
  | 'watch'
  /** The profile asks for something that it does not get. Ends when it no longer does. */
  | 'ignored'
  /** The same, where only the plugin's run shows it. */
  | 'left out'
  /** A request was refused. */
  | 'refusal'
  /** The program's own code threw. */
  | 'caller'
  /** Others could replace a plugin. */
  | 'plugin file'
  /** The images that a provider gave no credential for. */
  | 'image'
  /** A plugin's answer has a login that is for no image. Ends with an answer that has none. */
  | 'image key';

/** Whose trouble it is, for the line of the log. */
export interface Subject {
  /** Tells subjects apart. */
  readonly name: string;
  readonly fields: object;
}

/** One thing that is wrong. */
export interface Trouble {
  /** Tells troubles of one kind apart: each is warned about by itself. */
  readonly code: string;
  readonly message: string;
}

/** Warnings that one kind of trouble of one subject may have at once, however often it comes and goes; then one a minute. */
const warningsAtOnce = 5;
const sinkMs = 60_000;
/** Subjects that are remembered. Of more, the oldest are warned about once again. */
const maxSubjects = 20_000;
/** Troubles of one kind that are told apart. */
const maxCodes = 500;

interface State {
  /** What has been warned about and has not passed. */
  readonly codes: Set<string>;
  readonly recent: SinkingCount;
}

export class Troubles {
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #subjects = new Map<string, Map<TroubleKind, State>>();

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: () => number }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Something is wrong. */
  met(subject: Subject, kind: TroubleKind, { code, message }: Trouble): void {
    const state = this.#stateOf(subject.name, kind);
    if (state.codes.has(code)) return;
    if (state.codes.size >= maxCodes) state.codes.clear();
    state.codes.add(code);
    const now = this.#clock();
    const atOnce = kind === 'ignored' || kind === 'left out' ? maxCodes : warningsAtOnce;
    const tooMany = state.recent.value(now) > atOnce - 1;
    if (tooMany) {
      this.#logger.debug?.(subject.fields, `${message} (it comes and goes, and is warned about once a minute)`);
      return;
    }
    state.recent.add(now, atOnce);
    this.#logger.warn(subject.fields, message);
  }

  /** All that is wrong of this kind now: what is not listed has passed. */
  set(subject: Subject, kind: TroubleKind, troubles: readonly Trouble[]): void {
    const codes = this.#subjects.get(subject.name)?.get(kind)?.codes;
    if (codes && codes.size > 0) {
      const present = new Set(troubles.map(({ code }) => code));
      for (const code of codes) if (!present.has(code)) codes.delete(code);
    }
    for (const trouble of troubles) this.met(subject, kind, trouble);
  }

  /** Whether something of this kind is wrong now. */
  has({ name }: Subject, kind: TroubleKind): boolean {
    return (this.#subjects.get(name)?.get(kind)?.codes.size ?? 0) > 0;
  }

  /** Nothing of this kind is wrong any more. `message` says so, at info, where something was. */
  passed(subject: Subject, kind: TroubleKind, message?: string): void {
    if (this.#subjects.size === 0) return;
    const codes = this.#subjects.get(subject.name)?.get(kind)?.codes;
    if (!codes || codes.size === 0) return;
    codes.clear();
    if (message !== undefined) this.#logger.info?.(subject.fields, message);
  }

  #stateOf(name: string, kind: TroubleKind): State {
    let kinds = this.#subjects.get(name);
    if (!kinds) {
      const [oldest] = this.#subjects.keys();
      if (this.#subjects.size >= maxSubjects && oldest !== undefined) this.#subjects.delete(oldest);
      kinds = new Map();
      this.#subjects.set(name, kinds);
    }
    let state = kinds.get(kind);
    if (!state) {
      state = { codes: new Set(), recent: new SinkingCount(sinkMs) };
      kinds.set(kind, state);
    }
    return state;
  }
}

/**
 * The one place that decides whether a trouble is warned about: each kind of trouble of each cluster once, and again when it has
 * passed and come back. What happens comes in, a line of the log goes out, or none.
 */
import { SinkingCount } from './hold.ts';
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
  /** The file of the authority cannot be read again. Ends when it can. */
  | 'authority'
  /** A watch could not begin. Ends with one that has begun. */
  | 'watch'
  /** The profile asks for something that it does not get. Ends when it no longer does. */
  | 'ignored'
  /** The same, where only the plugin's run shows it. */
  | 'left out'
  /** A request was refused. An event: nothing ends it but time. */
  | 'refusal'
  /** The program's own code threw. An event too. */
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

/** Kinds that happen, and do not last: one that is told is forgotten after `sinkMs`. */
const events: ReadonlySet<TroubleKind> = new Set<TroubleKind>(['refusal', 'caller']);

/** That a trouble is there is one thing, that somebody has been told of it another: one that comes and goes is often not told. */
interface State {
  /** What is wrong now, by its code: when it was warned about; `undefined` where it was not. */
  readonly present: Map<string, number | undefined>;
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

  /** Something is wrong. One that could not be told yet is told as soon as it may be. */
  met(subject: Subject, kind: TroubleKind, { code, message }: Trouble): void {
    const { present, recent } = this.#stateOf(subject.name, kind);
    const now = this.#clock();
    const toldAt = present.get(code);
    if (toldAt !== undefined && !(events.has(kind) && Math.abs(now - toldAt) >= sinkMs)) return;
    const isNew = !present.has(code);
    const atOnce = kind === 'ignored' || kind === 'left out' ? maxCodes : warningsAtOnce;
    const mayTell = recent.value(now) <= atOnce - 1;
    const [oldest] = present.keys();
    if (isNew && present.size >= maxCodes && oldest !== undefined) present.delete(oldest);
    present.set(code, mayTell ? now : undefined);
    if (mayTell) {
      recent.add(now, atOnce);
      this.#logger.warn(subject.fields, message);
    } else if (isNew || events.has(kind)) {
      this.#logger.debug?.(subject.fields, `${message} (it comes and goes, and is warned about once a minute)`);
    }
  }

  /** All that is wrong of this kind now: what is not listed has passed. */
  set(subject: Subject, kind: TroubleKind, troubles: readonly Trouble[]): void {
    const present = this.#subjects.get(subject.name)?.get(kind)?.present;
    if (present && present.size > 0) {
      const codes = new Set(troubles.map(({ code }) => code));
      for (const code of present.keys()) if (!codes.has(code)) present.delete(code);
    }
    for (const trouble of troubles) this.met(subject, kind, trouble);
  }

  /** Whether something of this kind is wrong now. */
  has({ name }: Subject, kind: TroubleKind): boolean {
    return (this.#subjects.get(name)?.get(kind)?.present.size ?? 0) > 0;
  }

  /** Nothing of this kind is wrong any more. `message` says so, at info, where something was told. */
  passed(subject: Subject, kind: TroubleKind, message?: string): void {
    if (this.#subjects.size === 0) return;
    const present = this.#subjects.get(subject.name)?.get(kind)?.present;
    if (!present || present.size === 0) return;
    const wasTold = [...present.values()].some((toldAt) => toldAt !== undefined);
    present.clear();
    if (wasTold && message !== undefined) this.#logger.info?.(subject.fields, message);
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
      state = { present: new Map(), recent: new SinkingCount(sinkMs) };
      kinds.set(kind, state);
    }
    return state;
  }
}

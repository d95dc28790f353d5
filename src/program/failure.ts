/** How a call ends: the program's exit codes, and the error that a verb throws if it cannot proceed. */
import { codeFieldOf } from '../diagnose/index.ts';

/** The table in docs/command-line.md has the same. */
export const exitCodes = {
  ok: 0,
  /** Anything else: a bug of this program, or a machine without memory or disk space. */
  failed: 1,
  /** A verb, an option or an argument that is not valid. */
  usage: 2,
  /** Flags, a provider file, a kubeconfig or a manifest that cannot be used. */
  configuration: 3,
  /** The hub cannot be reached, or refuses. */
  hub: 4,
  /** A name that does not exist. */
  notFound: 5,
  /** From here on: the stage at which a cluster failed, in the order of the stages. */
  profile: 10,
  provider: 11,
  plugin: 12,
  proxy: 13,
  connection: 14,
  authentication: 15,
  identity: 16,
  /** The server answers, but not like an API server. */
  version: 17,
  /** The API server says that it is not ready. */
  ready: 18,
  /** `check --can-i`: the identity lacks a right. */
  permissions: 19,
  /** A command that was run for several clusters. */
  command: 20,
  /** Ctrl-C, by the shells' convention: 128 and the number of the signal. */
  interrupted: 130,
  /** The reader of the output has ended: `| head`. */
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Of the earliest stage at which any cluster failed. */
export function earliest(codes: readonly ExitCode[]): ExitCode {
  return codes.filter((code) => code !== exitCodes.ok).toSorted((a, b) => a - b)[0] ?? exitCodes.ok;
}

/** Shown as `error: message` and a line of advice; no stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;
  /** What to do next. */
  readonly hint: string | undefined;
  /** Of the library's error that it is made from: `error [PLUGIN_TIMEOUT]: message`. */
  readonly code: string | undefined;

  static readonly usage = Failure.#of(exitCodes.usage);
  static readonly configuration = Failure.#of(exitCodes.configuration);
  static readonly hub = Failure.#of(exitCodes.hub);
  static readonly notFound = Failure.#of(exitCodes.notFound);

  static #of(exitCode: ExitCode) {
    return (message: string, hint?: string, options?: ErrorOptions) => new Failure(exitCode, message, hint, options);
  }

  constructor(exitCode: ExitCode, message: string, hint?: string, options: ErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.hint = hint;
    this.code = codeFieldOf(this.cause).code;
  }
}

/** Why a call's signal aborts. */
export class Interrupted extends Failure {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(exitCodes.interrupted, 'interrupted');
    this.signal = signal;
  }
}

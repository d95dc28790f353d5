/** The stages of a check, and their results for one cluster. */
import { type Answer, adviceOn } from './api-client.ts';

/** In the order in which they are passed. */
export const stageNames = [
  'profile',
  'provider',
  'plugin',
  'proxy',
  'connection',
  'authentication',
  'identity',
  'version',
  'ready',
  'permissions',
] as const;
export type StageName = (typeof stageNames)[number];

export type StageResult = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Stage {
  readonly stage: StageName;
  readonly result: StageResult;
  /** How long it took. */
  readonly milliseconds: number;
  /** What was found, or why it failed. */
  readonly message: string;
  /** Of the library's error. */
  readonly code?: string;
  /** The next step, if the message does not have it. */
  readonly hint?: string;
  /** Problems that do not fail the stage. */
  readonly warnings: readonly string[];
}

/** What a stage has found. */
export interface Found<T> {
  readonly message: string;
  readonly warnings?: readonly string[];
  /** There was nothing to check. */
  readonly skipped?: true;
  /** The stage failed, and the next ones are checked all the same. */
  readonly failed?: { readonly code?: string; readonly hint: string };
  readonly value: T;
}

export interface ClusterReport {
  /** `namespace/name`. */
  readonly profile: string;
  readonly stages: readonly Stage[];
  /** The API server itself says that it cannot serve. */
  readonly isUnavailable: boolean;
  /** What `/version` says. */
  readonly version?: string | undefined;
  /** KEP-2149's ID of the cluster, if it was asked for. */
  readonly clusterId?: string | undefined;
}

/** The stage at which a cluster failed. */
export function failedStage({ stages }: ClusterReport): Stage | undefined {
  return stages.find(({ result }) => result === 'failed');
}

/** Why a stage failed, where no error of the library explains it. */
export class StageFailure extends Error {
  readonly hint: string | undefined;
  /** The API server itself says that it cannot serve. */
  readonly isUnavailable: boolean;

  constructor(message: string, hint?: string, isUnavailable = false) {
    super(message);
    this.hint = hint;
    this.isUnavailable = isUnavailable;
  }
}

/** An API server that cannot answer now says why. */
export function refuseUnavailable({ statusCode, message }: Answer): void {
  if (statusCode !== 429 && (statusCode < 500 || message === undefined)) return;
  const said = message === undefined ? '' : `: ${message}`;
  const problem = `the cluster answers with status ${statusCode}${said}`;
  throw new StageFailure(problem, adviceOn(statusCode), statusCode >= 500);
}

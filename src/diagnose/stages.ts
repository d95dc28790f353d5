/** The stages of a check, and their results for one cluster. */

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
  readonly milliseconds: number;
  /** What was found, or why it failed. */
  readonly message: string;
  /** Of the library's error. */
  readonly code?: string | undefined;
  /** The next step, if the message does not have it. */
  readonly hint?: string | undefined;
  /** Problems that do not fail the stage. */
  readonly warnings: readonly string[];
  /** The requested rights, in the stage `permissions`. */
  readonly rights?: readonly Decision[];
}

interface Decision {
  readonly right: string;
  readonly isAllowed: boolean;
}

export interface Found {
  readonly message: string;
  readonly warnings?: readonly string[];
  /** There was nothing to check. */
  readonly skipped?: true;
  /** The stage failed, and the next ones are checked all the same. */
  readonly failed?: { readonly code?: string; readonly hint: string };
  readonly rights?: readonly Decision[];
}

export type Step = readonly [stage: StageName, look: () => Found | Promise<Found>];

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

/** Why a stage failed, if no error of the library explains it. */
export class StageFailure extends Error {
  readonly hint: string | undefined;
  /** Of the library's error that this one says better. */
  readonly code: string | undefined;
  /** The API server itself says that it cannot serve. */
  readonly isUnavailable: boolean;

  constructor(
    message: string,
    hint?: string,
    { code, isUnavailable = false }: { readonly code?: string; readonly isUnavailable?: boolean } = {},
  ) {
    super(message);
    this.hint = hint;
    this.code = code;
    this.isUnavailable = isUnavailable;
  }
}

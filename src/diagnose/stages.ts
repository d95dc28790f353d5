/** The stages of a check, and their results for one cluster. */
import { type Answer, adviceOn } from './api-client.ts';
import { listAt, textAt } from './profile.ts';

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

/** An API server that cannot answer now says why. */
export function refuseUnavailable({ statusCode, message }: Answer): void {
  if (statusCode !== 429 && (statusCode < 500 || message === undefined)) return;
  const said = message === undefined ? '' : `: ${message}`;
  throw new StageFailure(`the cluster answers with status ${statusCode}${said}`, adviceOn(statusCode), {
    isUnavailable: statusCode >= 500,
  });
}

/** Whether the request arrived without its credential. Nothing may ever be granted to this identity: anyone has it. */
export function isAnonymous({ body, message = '' }: Pick<Answer, 'body' | 'message'>): boolean {
  const isUnnamed = textAt(body, 'status', 'userInfo', 'username') === 'system:anonymous';
  const groups = listAt(body, 'status', 'userInfo', 'groups');
  return isUnnamed || groups.includes('system:unauthenticated') || /"system:anonymous"/.test(message);
}

/** The answer came from something other than an API server, or from one at another path: what it says, and the next step. */
export function notAnApiServer({ statusCode, message, page }: Answer): StageFailure {
  const status = `status ${statusCode}`;
  if (statusCode >= 300 && statusCode < 400) {
    return new StageFailure(
      `it does not answer as a Kubernetes API server does: it redirects${page === undefined ? '' : ` to ${page}`} (${status})`,
      'server must be the address of the API server itself, and not of a console or of a gateway that asks people to log in',
    );
  }
  const said = message ?? (page === undefined ? undefined : `a web page, "${page}"`);
  const advice =
    statusCode === 403
      ? 'a gateway or firewall in front of the API server refuses: see its rules for this client, or correct server'
      : statusCode >= 500
        ? 'a gateway answers, and cannot reach the API server behind it: see the log of the gateway, and whether the API server runs'
        : statusCode === 404
          ? 'the path of server leads to nothing: check whether it is the address of the API server, and what is in front of it'
          : 'check whether server is the address of the API server, and what is in front of it';
  return new StageFailure(
    `it does not answer as a Kubernetes API server does (${status}${said === undefined ? '' : `: ${said}`})`,
    advice,
  );
}

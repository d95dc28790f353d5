/** What the answers of a cluster mean that are not those of a healthy API server, and the next step. */
import type { Answer } from './api-client.ts';
import { listAt, textAt } from './profile.ts';
import { StageFailure } from './stages.ts';

/** What to do if the cluster cannot answer now, by its status. */
export function adviceOn(statusCode: number): string | undefined {
  if (statusCode === 429)
    return 'it limits requests (API Priority and Fairness): retry later, with fewer requests at once';
  return statusCode >= 500 ? 'see the log of the API server, its etcd, and what is in front of it' : undefined;
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

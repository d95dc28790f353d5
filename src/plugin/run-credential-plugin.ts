import { isDate } from 'node:util/types';
import type { ApiVersion } from '../access/provider.ts';
import { nearest } from '../access/schema-problems.ts';
import { AnswerFault, type AnswerStatus, readCredential, toRfc3339 } from '../exec/credential.ts';
import { type ExecCredential, loadExecCredentialFromEnv } from './exec-info.ts';
import { answerWith, say } from './plugin-process.ts';

/** The answer of a plugin: a token, a client certificate with its key, or both. */
export interface CredentialStatus {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificateData?: string;
  /** PEM. */
  readonly clientKeyData?: string;
  /**
   * When the credential expires: a `Date`, or text in RFC 3339 (`2030-01-02T03:04:05Z`). Without it the client keeps the credential
   * until a server refuses it, and a warning is printed; `null` means that this is intended.
   */
  readonly expirationTimestamp?: Date | string | null;
}

/**
 * Runs a credential plugin: reads the request of the client, calls `getStatus`, and answers on stdout in the requested version. A
 * failure is printed to stderr in one line, with its causes and without anything that looks like a credential, and the process exits
 * with 1. A status that a client would refuse is a failure. Other output to stdout,
 * also by `console.log`, goes to stderr. The process exits when everything is written, whatever timer or connection is still open:
 * code after the call does not run.
 *
 * @example
 * await runCredentialPlugin(async ({ spec }) => ({ token: await readToken(spec.cluster?.config) }));
 */
export async function runCredentialPlugin(
  getStatus: (credential: ExecCredential) => Promise<CredentialStatus> | CredentialStatus,
): Promise<never> {
  return answerWith(async () => {
    const { credential } = loadExecCredentialFromEnv();
    return answerOf(credential.apiVersion, await getStatus(credential));
  });
}

const statusFields = ['token', 'clientCertificateData', 'clientKeyData', 'expirationTimestamp'];

/** Returns the answer in the form of the protocol. Throws if a client would refuse it, so that the author of the plugin sees why. */
function answerOf(apiVersion: ApiVersion, given: CredentialStatus): object {
  if (typeof given !== 'object' || given === null) {
    throw new Error('the plugin gave no status: return { token, expirationTimestamp }');
  }
  for (const field of Object.keys(given)) {
    if (statusFields.includes(field)) continue;
    if (field === 'status') throw new Error('the plugin gave a whole ExecCredential: return its status alone');
    const meant = nearest(field, statusFields);
    if (meant) throw new Error(`the plugin's status has the field ${field}: did you mean ${meant}?`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp: expiry } = given;
  for (const [field, value] of Object.entries({ token, clientCertificateData, clientKeyData })) {
    if (value !== undefined && typeof value !== 'string') throw new Error(`the plugin's ${field} must be text`);
  }
  const status = { token, clientCertificateData, clientKeyData, expirationTimestamp: timestampOf(expiry) };
  const expiresAt = endOf(status);
  if (expiry === undefined) {
    const advice = 'give one that is a little before its end, or null where it has none';
    say(`warning: no expirationTimestamp: the client keeps the credential until a server refuses it; ${advice}`);
  } else if (expiresAt !== undefined && expiresAt <= Date.now()) {
    const then = new Date(expiresAt).toISOString();
    say(`warning: the expirationTimestamp ${then} has passed: check whether the clock is right`);
  }
  return { kind: 'ExecCredential', apiVersion, status };
}

/** When the credential expires, as a client reads it. */
function endOf(status: AnswerStatus): number | undefined {
  try {
    return readCredential(status).expiresAt;
  } catch (fault) {
    throw fault instanceof AnswerFault ? new Error(`the plugin ${fault.reason}`) : fault;
  }
}

/** Kubernetes' times have no fractions of a second. */
function timestampOf(expiry: unknown): string | undefined {
  if (expiry === undefined || expiry === null) return undefined;
  if (typeof expiry === 'string') return expiry;
  if (!isDate(expiry)) {
    const advice = 'give a Date, or text such as 2030-01-02T03:04:05Z; seconds since 1970 are new Date(1000 * seconds)';
    throw new Error(`the plugin's expirationTimestamp is of the type ${typeof expiry}: ${advice}`);
  }
  return toRfc3339(expiry.getTime());
}

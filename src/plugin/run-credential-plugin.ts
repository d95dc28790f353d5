import { isDate } from 'node:util/types';
import type { ApiVersion } from '../access/api-versions.ts';
import { nearest } from '../access/nearest.ts';
import { AnswerFault, type AnswerStatus, maxAnswerBytes, readStatus } from '../exec/credential.ts';
import { answerWith, say } from './answer.ts';
import { type ExecCredential, loadExecCredentialFromEnv } from './exec-info.ts';

/** What a plugin answers with: a token, or a client certificate with its key, or both. */
export interface CredentialStatus {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificateData?: string;
  /** PEM. */
  readonly clientKeyData?: string;
  /**
   * When the credential ends: a `Date`, or a text as RFC 3339 has it (`2030-01-02T03:04:05Z`). Without it the client keeps the
   * credential until a server refuses it; `null` says that this is meant, otherwise it is warned about.
   */
  readonly expirationTimestamp?: Date | string | null;
}

/**
 * Runs a credential plugin: reads what the client asks, calls `getStatus`, answers on stdout in the version that was asked
 * for. A failure goes to stderr in one line, with its causes and without what looks like a credential, and ends the process
 * with the error's own `exitCode` (1 to 255), else with 1. A status that a client would refuse is a failure. Whatever else is
 * written to stdout, by `console.log` too, goes to stderr. It ends the process when all has been written, whatever timer or connection is
 * still open: nothing that stands after it runs.
 *
 * @example
 * await runCredentialPlugin(async ({ spec }) => ({ token: await readToken(spec.cluster?.config) }));
 */
export async function runCredentialPlugin(
  getStatus: (credential: ExecCredential) => Promise<CredentialStatus> | CredentialStatus,
): Promise<never> {
  return answerWith('runCredentialPlugin', async () => {
    if (typeof getStatus !== 'function') {
      throw new Error('runCredentialPlugin takes a function that gives { token, expirationTimestamp }');
    }
    const { credential } = loadExecCredentialFromEnv();
    return answerOf(credential.apiVersion, await getStatus(credential));
  });
}

const statusFields = ['token', 'clientCertificateData', 'clientKeyData', 'expirationTimestamp'];

/** The answer as the protocol has it. Throws where a client would refuse it, which is where its author can see it. */
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
  const answer = { kind: 'ExecCredential', apiVersion, status };
  if (Buffer.byteLength(JSON.stringify(answer)) > maxAnswerBytes) {
    throw new Error(`the plugin's answer is longer than the ${maxAnswerBytes} bytes that a client reads`);
  }
  const expiresAt = endOf(status);
  if (expiry === undefined) {
    const advice = 'give one that is a little before its end, or null where it has none';
    say(`warning: no expirationTimestamp: the client keeps the credential until a server refuses it; ${advice}`);
  } else if (expiresAt !== undefined && expiresAt <= Date.now()) {
    const then = new Date(expiresAt).toISOString();
    say(`warning: the expirationTimestamp ${then} has passed: see whether the clock is right`);
  }
  return answer;
}

/** When the credential expires, in the client's own reading. */
function endOf(status: AnswerStatus): number | undefined {
  try {
    return readStatus(status).expiresAt;
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
  if (Number.isNaN(expiry.getTime())) throw new Error("the plugin's expirationTimestamp is an invalid Date");
  return expiry.toISOString().replace(/\.\d+Z$/, 'Z');
}

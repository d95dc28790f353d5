import { answerWith } from './answer.ts';
import { type ExecCredential, loadExecCredentialFromEnv } from './exec-info.ts';

/** What a plugin answers with: a token, or a client certificate with its key, or both. */
export interface CredentialStatus {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificateData?: string;
  /** PEM. */
  readonly clientKeyData?: string;
  /** Left out: until the server refuses it. */
  readonly expirationTimestamp?: Date;
}

/**
 * Runs a credential plugin: reads what the client asks, calls `getStatus`, answers on stdout in the version that was asked
 * for. A failure goes to stderr in one line, without what looks like a credential, and ends the process with the error's own
 * `exitCode` (1 to 255), else with 1. A status that a client would refuse is a failure.
 *
 * @example
 * await runCredentialPlugin(async ({ spec }) => ({ token: await readToken(spec.cluster?.config) }));
 */
export async function runCredentialPlugin(
  getStatus: (credential: ExecCredential) => Promise<CredentialStatus> | CredentialStatus,
): Promise<void> {
  await answerWith(async () => {
    const { credential } = loadExecCredentialFromEnv();
    const { apiVersion, kind } = credential;
    return { kind, apiVersion, status: checkStatus(await getStatus(credential)) };
  });
}

/** The status as the protocol has it. Throws where a client would refuse it, which is where its author can see it. */
function checkStatus({ token, clientCertificateData, clientKeyData, expirationTimestamp }: CredentialStatus): object {
  if (!token && !clientCertificateData && !clientKeyData) {
    throw new Error('the plugin got neither a token nor a client certificate and key');
  }
  if (!clientCertificateData !== !clientKeyData) {
    throw new Error(
      `the plugin got a client ${clientKeyData ? 'key without its certificate' : 'certificate without its key'}`,
    );
  }
  if (expirationTimestamp !== undefined && Number.isNaN(expirationTimestamp.getTime())) {
    throw new Error('the plugin got an expirationTimestamp that is no time');
  }
  const seconds = expirationTimestamp?.toISOString().replace(/\.\d+Z$/, 'Z');
  return { token, clientCertificateData, clientKeyData, expirationTimestamp: seconds };
}

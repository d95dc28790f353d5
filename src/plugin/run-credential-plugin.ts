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
 * for. A failure goes to stderr in one line, and ends the process with exit code 1.
 *
 * @example
 * await runCredentialPlugin(async ({ spec }) => ({ token: await readToken(spec.cluster?.config) }));
 */
export async function runCredentialPlugin(
  getStatus: (credential: ExecCredential) => Promise<CredentialStatus> | CredentialStatus,
): Promise<void> {
  try {
    const { credential } = loadExecCredentialFromEnv();
    const { apiVersion, kind } = credential;
    const status = await getStatus(credential);
    const seconds = status.expirationTimestamp?.toISOString().replace(/\.\d+Z$/, 'Z');
    const answer = { kind, apiVersion, status: { ...status, ...(seconds ? { expirationTimestamp: seconds } : {}) } };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : 'the plugin failed'}\n`);
    process.exitCode = 1;
  }
}

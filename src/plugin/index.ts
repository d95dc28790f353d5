/**
 * For authors of plugins: reads the request of the client, and prints the answer.
 *
 * @module clusterprofile-credentials/plugin
 */
export { CredentialsError, type ErrorCode, ExecInfoError } from '../errors/index.ts';
export type {
  ExecCredential,
  ExecCredentialCluster,
  LoadedExecCredential,
} from './exec-info.ts';
export { loadExecCredential, loadExecCredentialFromEnv } from './exec-info.ts';
export { type CredentialStatus, runCredentialPlugin } from './run-credential-plugin.ts';

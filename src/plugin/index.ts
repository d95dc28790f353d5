/**
 * For authors of plugins: what a plugin is asked, and how it answers.
 *
 * @module clusterprofile-credentials/plugin
 */
export { CredentialsError, type ErrorCode, ExecInfoError, type ExecInfoErrorCode } from '../errors.ts';
export {
  type ExecCredential,
  type ExecCredentialCluster,
  type LoadedExecCredential,
  loadExecCredential,
  loadExecCredentialFromEnv,
} from './exec-info.ts';
export { type CredentialStatus, runCredentialPlugin } from './run-credential-plugin.ts';

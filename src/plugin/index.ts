export { CredentialsError, type ErrorCode, ExecInfoError, type ExecInfoErrorCode } from '../errors.ts';
export {
  type ExecCredential,
  type ExecCredentialCluster,
  type LoadedExecCredential,
  loadExecCredential,
  loadExecCredentialFromEnv,
} from './exec-info.ts';
export { type CredentialStatus, runCredentialPlugin } from './run-credential-plugin.ts';

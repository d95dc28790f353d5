export {
  type ExecCredential,
  type LoadedExecCredential,
  loadExecCredential,
  loadExecCredentialFromEnv,
} from './exec-info.ts';
export { type CredentialStatus, runCredentialPlugin } from './run-credential-plugin.ts';

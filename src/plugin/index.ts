/**
 * For authors of plugins: reads the request of the client, and prints the answer.
 *
 * @module clusterprofile-credentials/plugin
 */
export { CredentialsError, type ErrorCode, ExecInfoError } from '../errors/index.ts';
export {
  type CredentialStatus,
  type ExecCredential,
  type ExecCredentialCluster,
  type LoadedExecCredential,
  loadExecCredential,
  loadExecCredentialFromEnv,
  runCredentialPlugin,
} from './credential-plugin.ts';

/** Formats an error for the user: a line with its code, advice and an exit code. No stack, and no secret. */
import {
  ConfigurationError,
  ConnectionError,
  CredentialsError,
  isOfProvider,
  PluginError,
  ProfileError,
  redact,
} from '../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from './failure.ts';

export interface ShownError {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly code?: string | undefined;
  readonly exitCode: ExitCode;
}

export function describe(error: unknown): ShownError {
  if (error instanceof Failure) return error;
  if (error instanceof CredentialsError)
    return { message: error.message, exitCode: exitCodeOf(error), code: error.code };
  const message = error instanceof Error ? error.message : String(error);
  return {
    message: redact(message),
    hint: 'this is a bug of clusterprofile-credentials, or a problem of this machine; please report it',
    exitCode: exitCodes.failed,
  };
}

function exitCodeOf(error: CredentialsError): ExitCode {
  if (error instanceof ConfigurationError) return exitCodes.configuration;
  if (error instanceof ProfileError) return exitCodeOfProfile(error);
  if (error instanceof PluginError) return exitCodes.plugin;
  return error instanceof ConnectionError ? exitCodes.connection : exitCodes.failed;
}

export function exitCodeOfProfile(error: ProfileError): ExitCode {
  return isOfProvider(error) ? exitCodes.provider : exitCodes.profile;
}

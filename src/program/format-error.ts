/** Converts errors of the library, and any other, to what the user is shown of them. No stack, and no secret. */
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

export function describe(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof CredentialsError)
    return new Failure(exitCodeOf(error), error.message, undefined, { cause: error });
  const message = error instanceof Error ? error.message : String(error);
  const hint = 'this is a bug of clusterprofile-credentials, or a problem of this machine; please report it';
  return new Failure(exitCodes.failed, redact(message), hint);
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

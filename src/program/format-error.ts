/** Formats an error for the user: a line with its code, advice and an exit code. No stack, and no secret. */
import type { ProfileError } from '../errors/index.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { Failure } from './failure.ts';

export interface ShownError {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly code?: string | undefined;
  readonly exitCode: ExitCode;
}

export async function describe(error: unknown): Promise<ShownError> {
  if (error instanceof Failure) return error;
  const { CredentialsError, ConfigurationError, ProfileError, PluginError, ConnectionError } = await import(
    '../errors/index.ts'
  );
  if (error instanceof CredentialsError) {
    const exitCode =
      error instanceof ConfigurationError
        ? exitCodes.configuration
        : error instanceof ProfileError
          ? exitCodeOfProfile(error)
          : error instanceof PluginError
            ? exitCodes.plugin
            : error instanceof ConnectionError
              ? exitCodes.connection
              : exitCodes.failed;
    return { message: error.message, exitCode, code: error.code };
  }
  const { redact } = await import('../redaction/redact.ts');
  const message = error instanceof Error ? error.message : String(error);
  return {
    message: redact(message),
    hint: 'this is a bug of clusterprofile-credentials, or a problem of this machine; please report it',
    exitCode: exitCodes.failed,
  };
}

/** Codes for profiles that the operator's configuration refuses. The profile itself may be right. */
export function isOfProvider({ code, path }: ProfileError): boolean {
  // Without a status no access has been published yet.
  if (path === 'status') return false;
  return code === 'NO_MATCHING_PROVIDER' || code === 'SERVER_INSECURE' || code.endsWith('_NOT_ALLOWED');
}

export function exitCodeOfProfile(error: ProfileError): ExitCode {
  return isOfProvider(error) ? exitCodes.provider : exitCodes.profile;
}

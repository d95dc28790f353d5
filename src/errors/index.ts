/**
 * Every error that this package throws or rejects with. Messages name what to fix and contain no secret. A dependency's error is
 * translated where it is caught, and never chained if it could contain one.
 */

export { ConfigurationError, ImageError, type Problem, ProfileError } from './configuration-error.ts';
export type {
  ApiErrorCode,
  ClusterOfError,
  ConfigurationErrorCode,
  ConnectionErrorCode,
  ErrorCode,
  ExecInfoErrorCode,
  FleetErrorCode,
  ImageErrorCode,
  PluginErrorCode,
  ProfileErrorCode,
  RequestErrorCode,
} from './credentials-error.ts';
export { CredentialsError } from './credentials-error.ts';
export {
  ApiError,
  type ApiFailure,
  ConnectionError,
  ExecInfoError,
  FleetError,
  type FleetFailure,
  PluginError,
  type PluginFailure,
  RequestError,
  type StatusCause,
} from './runtime-errors.ts';

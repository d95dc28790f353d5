/**
 * Every error that this package throws or rejects with. Messages name what to fix and contain no secret. A dependency's error is
 * translated where it is caught, and never chained if it could contain one.
 */

export {
  type ApiErrorCode,
  type ClusterOfError,
  ConfigurationError,
  type ConfigurationErrorCode,
  type ConnectionErrorCode,
  CredentialsError,
  type ErrorCode,
  type ExecInfoErrorCode,
  type FleetErrorCode,
  ImageError,
  type ImageErrorCode,
  type PluginErrorCode,
  type Problem,
  ProfileError,
  type ProfileErrorCode,
  type RequestErrorCode,
} from './credentials-error.ts';
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

/**
 * Every error that this package throws or rejects with. Messages name what to fix and contain no secret. A dependency's error is
 * translated where it is caught, and never chained if it could contain one.
 */
export { ApiError, type ApiFailure, type StatusCause } from './api-error.ts';
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
export { FleetError, type FleetFailure } from './fleet-error.ts';
export { ExecInfoError, PluginError, type PluginFailure } from './plugin-error.ts';
export { ConnectionError, RequestError } from './request-error.ts';

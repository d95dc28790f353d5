/**
 * Every error that this package throws or rejects with. Messages name what to fix and contain no secret. A dependency's error is
 * translated where it is caught, and never chained if it could contain one.
 */
export { ApiError, type ApiFailure, type StatusCause } from './api-error.ts';
export type { ClusterOfError } from './cluster-of-error.ts';
export type {
  ApiErrorCode,
  ConfigurationErrorCode,
  ConnectionErrorCode,
  ErrorCode,
  ExecInfoErrorCode,
  FleetErrorCode,
  ImageErrorCode,
  PluginErrorCode,
  ProfileErrorCode,
  RequestErrorCode,
} from './codes.ts';
export { ConfigurationError, type Problem } from './configuration-error.ts';
export { ConnectionError } from './connection-error.ts';
export { CredentialsError } from './credentials-error.ts';
export { ExecInfoError } from './exec-info-error.ts';
export { FleetError, type FleetFailure } from './fleet-error.ts';
export { ImageError } from './image-error.ts';
export { PluginError, type PluginFailure } from './plugin-error.ts';
export { ProfileError } from './profile-error.ts';
export { RequestError } from './request-error.ts';

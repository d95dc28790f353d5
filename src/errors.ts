/**
 * Every error that this package throws or rejects with. Messages are in our own words, name what to mend and hold no
 * secret; a dependency's error is translated where it is caught and never chained when it could hold one.
 */
export type { ClusterOfError } from './errors/cluster-of-error.ts';
export type {
  ConfigurationErrorCode,
  ConnectionErrorCode,
  ErrorCode,
  ExecInfoErrorCode,
  FleetErrorCode,
  ImageErrorCode,
  PluginErrorCode,
  ProfileErrorCode,
  RequestErrorCode,
} from './errors/codes.ts';
export { ConfigurationError, type Problem } from './errors/configuration-error.ts';
export { ConnectionError } from './errors/connection-error.ts';
export { CredentialsError } from './errors/credentials-error.ts';
export { ExecInfoError } from './errors/exec-info-error.ts';
export { FleetError, type FleetFailure } from './errors/fleet-error.ts';
export { ImageError } from './errors/image-error.ts';
export { PluginError, type PluginFailure } from './errors/plugin-error.ts';
export { ProfileError } from './errors/profile-error.ts';
export { RequestError } from './errors/request-error.ts';

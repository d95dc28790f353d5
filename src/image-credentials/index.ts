export {
  ConfigurationError,
  type ConfigurationErrorCode,
  CredentialsError,
  type ErrorCode,
  ExecInfoError,
  type ExecInfoErrorCode,
  ImageError,
  type ImageErrorCode,
  PluginError,
  type PluginErrorCode,
  type Problem,
} from '../errors.ts';
export type { Logger } from '../logger.ts';
export type { MetricsRegistry } from '../metrics-registry.ts';
export type { DockerConfig } from './docker-config.ts';
export {
  type ImageCredentialOptions,
  ImageCredentialProviders,
  type ImageCredentials,
  type ImageFlagValues,
  imageFlagOptions,
} from './image-credential-providers.ts';
export type { ImageCredential } from './keyring.ts';
export { matchImage } from './match-image.ts';
export { ImageCredentialMetrics } from './metrics.ts';
export type { CacheKeyType, ImageRequest } from './protocol.ts';
export type { ServiceAccount, TokenRequest } from './provider-source.ts';
export { type ImagePluginAnswer, runImageCredentialPlugin } from './run-image-credential-plugin.ts';

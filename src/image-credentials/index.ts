/**
 * For programs that pull images: the kubelet's image credential providers (KEP-2133).
 *
 * @module clusterprofile-credentials/image-credentials
 */
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
export type { DockerConfig, DockerLogin } from './docker-config.ts';
export {
  type ImageCredentialOptions,
  ImageCredentialProviders,
  type ImageCredentials,
  type ImageFailure,
  type ImageFlagValues,
  type ImageRequestOptions,
  imageFlagOptions,
  type SkippedProvider,
} from './image-credential-providers.ts';
export type { ImagePluginAnswer } from './image-plugin-answer.ts';
export type { ImageCredential } from './keyring.ts';
export { matchImage } from './match-image.ts';
export { ImageCredentialMetrics } from './metrics.ts';
export { mintTokenFrom } from './mint-token-from.ts';
export type { CacheKeyType, ImageRequest } from './protocol.ts';
export { runImageCredentialPlugin } from './run-image-credential-plugin.ts';
export type { ServiceAccount } from './service-account.ts';
export type { MintedToken, MintToken, TokenRequest } from './service-account-tokens.ts';

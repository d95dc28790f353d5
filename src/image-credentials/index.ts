/**
 * For programs that pull images: the kubelet's image credential providers (KEP-2133).
 *
 * @module clusterprofile-credentials/image-credentials
 */
import '../util/node-version.ts';

export {
  ConfigurationError,
  CredentialsError,
  type ErrorCode,
  ImageError,
  PluginError,
  type Problem,
} from '../errors/index.ts';
export type { Logger } from '../observability/logger.ts';
export type { MetricsRegistry } from '../observability/metrics-registry.ts';
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
export type { ImageCredential } from './keyring.ts';
export { matchImage } from './match-image.ts';
export { ImageCredentialMetrics } from './metrics.ts';
export { mintTokenFrom } from './mint-token-from.ts';
export type { ServiceAccount } from './service-account.ts';
export type { MintedToken, MintToken, TokenRequest } from './service-account-tokens.ts';

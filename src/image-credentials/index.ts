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
export type { MetricsRegistry } from '../observability/metrics.ts';
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
export { ImageCredentialMetrics } from './image-plugin.ts';
export { type ImageCredential, matchImage } from './keyring.ts';
export type { MintedToken, MintToken, ServiceAccount, TokenRequest } from './service-account-tokens.ts';
export { mintTokenFrom } from './service-account-tokens.ts';

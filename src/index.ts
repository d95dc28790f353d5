/**
 * For authors of controllers: from a ClusterProfile to a client whose requests carry its credential.
 *
 * @module clusterprofile-credentials
 */
export type { ApiVersion } from './access/api-versions.ts';
export type { ResolvedCluster } from './access/cluster.ts';
export type {
  AccessProvider,
  Cluster,
  ClusterProfile,
  ClusterProfileStatus,
  NamedExtension,
} from './access/cluster-profile.ts';
export { type FlagValues, flagOptions } from './access/flags.ts';
export type { Json } from './access/json.ts';
export type {
  AllowedProfiles,
  CLIArgsPolicy,
  EnvVar,
  EnvVarsPolicy,
  ExecConfig,
  InteractiveMode,
  Provider,
} from './access/provider.ts';
export type { Ignored } from './access/refusal.ts';
export type { ConfigAccess, ResolvedAccess, ResolvedExec } from './access/resolve.ts';
export { CredentialProviders } from './credential-providers.ts';
export {
  type ClusterOfError,
  ConfigurationError,
  type ConfigurationErrorCode,
  ConnectionError,
  type ConnectionErrorCode,
  CredentialsError,
  type ErrorCode,
  ExecInfoError,
  type ExecInfoErrorCode,
  FleetError,
  type FleetErrorCode,
  ImageError,
  type ImageErrorCode,
  PluginError,
  type PluginErrorCode,
  type Problem,
  ProfileError,
  type ProfileErrorCode,
  RequestError,
  type RequestErrorCode,
} from './errors.ts';
export type { PluginPolicy, PluginPolicyType } from './exec/plugin-policy.ts';
export type { Logger } from './logger.ts';
export { CredentialMetrics } from './metrics.ts';
export type { MetricsRegistry } from './metrics-registry.ts';
export type { CredentialProvidersOptions, ProviderFileChange } from './options.ts';
export type { KubeconfigOptions, KubeconfigSource } from './rest/from-kubeconfig.ts';
export { RestConfig } from './rest/rest-config.ts';

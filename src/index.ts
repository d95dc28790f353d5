/**
 * For authors of controllers: from a ClusterProfile to a client whose requests carry its credential.
 *
 * @module clusterprofile-credentials
 */
import './util/node-version.ts';

export type { ResolvedCluster } from './access/cluster.ts';
export type {
  AccessProvider,
  ClusterProfile,
  ClusterProfileStatus,
  Ignored,
  KubeconfigCluster,
  NamedExtension,
} from './access/cluster-profile.ts';
export { type FlagValues, flagOptions } from './access/flags.ts';
export type { ImpersonationConfig } from './access/impersonation.ts';
export type { Json } from './access/json.ts';
export type { PluginPolicy } from './access/plugin-policy.ts';
export type { AllowedProfiles, ApiVersion, EnvVar, ExecConfig, Provider } from './access/provider.ts';
export type { ConfigAccess, ResolvedAccess, ResolvedExec } from './access/resolve.ts';
export {
  ApiError,
  ConfigurationError,
  ConnectionError,
  CredentialsError,
  type ErrorCode,
  FleetError,
  ImageError,
  PluginError,
  type Problem,
  ProfileError,
  RequestError,
  type StatusCause,
} from './errors/index.ts';
export type { Logger } from './observability/logger.ts';
export { CredentialMetrics, type MetricsRegistry } from './observability/metrics.ts';
export type { CredentialProvidersOptions } from './options/options.ts';
export type { GetConfigOptions } from './providers/config-options.ts';
export { CredentialProviders, type ProviderFileChange } from './providers/credential-providers.ts';
export type {
  KindOf,
  KubernetesObject,
  MergePatch,
  ObjectMeta,
  ObjectOf,
  OwnerReference,
  Time,
  TypeOf,
  UntypedObject,
  Wire,
  WireInput,
} from './rest/api/kubernetes-object.ts';
export { ResourceClient } from './rest/api/resource-client.ts';
export type {
  ApplyOptions,
  DeleteOptions,
  GetOptions,
  JsonPatchOperation,
  ListOptions,
  PatchOptions,
  ReplaceOptions,
  ResourceList,
  ResourceOptions,
  WriteOptions,
} from './rest/api/resource-options.ts';
export type { KubeconfigOptions, KubeconfigSource } from './rest/from-kubeconfig.ts';
export { Preview, type PreviewedWrite } from './rest/request/previewed-writes.ts';
export { RestConfig } from './rest/rest-config.ts';
export type { ConfigCredential } from './rest/rest-config-parts.ts';
export { type AnyKubeConfig, toKubeConfig } from './rest/to-kube-config.ts';
export { stopSignal } from './util/abortable.ts';

/**
 * What the program `clusterprofile` uses of this package, and nothing else: this module finds out why a cluster cannot be reached, a
 * plugin's answer is refused, or a file is wrong. It is not public. `test/package/modules.test.ts` holds that the program has no other door.
 */

export { checkCluster, hasLogin, type ResolvedCluster } from '../access/cluster.ts';
export { type AccessProvider, type Condition, clusterSchema, type NamedExtension } from '../access/cluster-profile.ts';
export { parseDuration } from '../access/duration.ts';
export { extensionNames } from '../access/extensions.ts';
export { flagOptions, parseFlags, pickFlags } from '../access/flags.ts';
export { copyJson, type Json } from '../access/json.ts';
export { type KubeconfigAccess, readContext } from '../access/kubeconfig.ts';
export { type MergedKubeconfig, mergeKubeconfigs, refuseProblems } from '../access/kubeconfig-files.ts';
export type { PemSource, StaticUser } from '../access/kubeconfig-user.ts';
// What a controller's configuration and its profiles mean.
export {
  apiVersions,
  type EnvVar,
  type ExecConfig,
  interactiveModes,
  type Provider,
} from '../access/provider.ts';
export {
  type ConfiguredProvider,
  configureProviders,
  parseProviderFile,
  providersSchema,
} from '../access/provider-schema.ts';
export {
  printedWithoutValues,
  profileName,
  type ResolvedAccess,
  type ResolvedExec,
  resolve,
} from '../access/resolve.ts';
export { nearest } from '../access/schema-problems.ts';
export {
  createGlob,
  parseHostPattern,
  parseUrlPattern,
  type UrlPattern,
  withoutLastSlashes,
} from '../access/url-pattern.ts';
export { checkYaml, kubernetesTags, kubernetesYaml, parseYaml, readManifests } from '../access/yaml-text.ts';
export {
  ApiError,
  ConfigurationError,
  ConnectionError,
  CredentialsError,
  PluginError,
  ProfileError,
} from '../errors/index.ts';
// Plugins, and what may be shown of them.
export { type Credential, toRfc3339 } from '../exec/credential.ts';
export { type ExecCluster, toExecCluster } from '../exec/exec-credential.ts';
export { findExecutable } from '../exec/executable.ts';
export type { PluginCall } from '../exec/plugin-call.ts';
export { killAtExit } from '../exec/process.ts';
export { clusterProfileKind, type FleetProfile } from '../fleet/membership/identity.ts';
export { anyLeaseSelector } from '../fleet/sharding/names.ts';
export type { Events } from '../observability/telemetry.ts';
export { type ExecCredential, loadExecCredentialFromEnv } from '../plugin/credential-plugin.ts';
export {
  checkHardened,
  joinProviders,
  type ProviderFile,
  readProviderFile,
} from '../providers/configured-providers.ts';
export { hideSecrets, redact, secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
export { hideShapes } from '../redaction/secret-shapes.ts';
// Servers.
export { listPath } from '../rest/api/api-server.ts';
export type { KubeconfigSource } from '../rest/from-kubeconfig.ts';
export { abortable, longestMs } from '../util/abortable.ts';
export { backoffMs } from '../util/backoff.ts';
export { homeKubeconfig, makeFolder, statsOf } from '../util/folders.ts';
export { codeFieldOf, errnoOf, isObject, tryParseJson } from '../util/guards.ts';
export { isLabel } from '../util/hosts.ts';
export { claimsOfJwt, timeOfClaim } from '../util/jwt.ts';
export { printable, printableLines } from '../util/printable.ts';

// This module's own.
export { adviceOn, isAnonymous } from './answers.ts';
export {
  type Answer,
  type ApiClient,
  type OpenedKubeconfig,
  onlyContext,
  openKubeconfig,
} from './api-client.ts';
export { formatDuration } from './credential-facts.ts';
export { type Finding, lineOfFinding, type Severity, severities } from './lint/finding.ts';
export { lint } from './lint/lint.ts';
export { type Api, apiOf, fleetsOf, type ShardRow, shardsOf, statusOf, watchResource, withContext } from './objects.ts';
export type { Right } from './permissions.ts';
export { getCredential, judgePlugin, type PluginReport } from './plugin-run.ts';
export { type Container, isWorkload, mountedAt, podSpecs, readContainer, textOf, textsOf } from './pod-args.ts';
export { type CallProviders, Prober } from './prober.ts';
export { at, isOfProvider, listAt, type Profile, textAt, tryToResolve, withoutProfile } from './profile.ts';
export {
  type ClusterReport,
  failedStage,
  type Stage,
  type StageName,
  type StageResult,
  stageNames,
} from './stages.ts';

/**
 * The providers that clusters need: those of the provider file if they fit, else new ones, with the narrowest rules that let the
 * profiles through. Pure.
 */
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type AccessProvider,
  type ConfiguredProvider,
  configureProviders,
  type EnvVar,
  type ExecConfig,
  extensionNames,
  type NamedExtension,
  ProfileError,
  type Provider,
  parseHostPattern,
  parseUrlPattern,
  type ResolvedExec,
  resolve,
  type UrlPattern,
  withoutProfile,
} from '../../diagnose/index.ts';
import { kubeconfigCluster } from '../kubeconfig/entries.ts';
import { attempt, fullName, type Refused, type Served, type Settings, type SourceCluster, Unusable } from './source.ts';

/** `existing` are those of the provider file, and `changed` names those that it lacks, or has in another form. */
export function planProviders(
  existing: readonly Provider[],
  sources: readonly SourceCluster[],
  { clusterManager, force }: Pick<Settings, 'clusterManager' | 'force'>,
) {
  const providers = new Map(existing.map((provider) => [provider.name, provider]));
  const changed = new Set<string>();
  const chosen = new Map<SourceCluster, string>();
  const refused: Refused[] = [];
  const use = (source: SourceCluster, provider: Provider) => {
    chosen.set(source, provider.name);
    providers.set(provider.name, provider);
    changed.add(provider.name);
  };
  const valid = configureProviders(existing);
  const withoutProvider: SourceCluster[] = [];
  for (const source of sources) {
    attempt(source, refused, () => {
      const candidates = existing.filter((provider) => isCompatible(provider, source));
      const problems = candidates.map((provider) => problemOf(source, provider, valid, clusterManager));
      const fitting = candidates[problems.indexOf(undefined)];
      const [first] = candidates;
      if (fitting) return chosen.set(source, fitting.name);
      if (!first) return withoutProvider.push(source);
      const wider = widened(providers.get(first.name) ?? first, source);
      if (force) return use(source, wider);
      const advice = 'change it, or give --force';
      throw new Unusable(
        `provider ${first.name} of the provider file would have to be widened: ${problems[0]}: ${advice}`,
      );
    });
  }
  for (const group of Map.groupBy(withoutProvider, keyOfPlugin).values()) {
    const provider = newProvider(group, (name) => providers.has(name));
    for (const source of group) {
      attempt(source, refused, () => use(source, widened(providers.get(provider.name) ?? provider, source)));
    }
  }
  const configured = configureProviders([...providers.values()]);
  const served = [...chosen].flatMap(([source, name]): readonly Served[] => {
    const provider = providers.get(name);
    if (!provider) return [];
    // One of the file was found to fit.
    const problem = changed.has(name) ? problemOf(source, provider, configured, clusterManager) : undefined;
    if (problem === undefined) return [{ source, entry: entryOf(source, provider) }];
    refused.push({ ...source, message: problem });
    return [];
  });
  return { served, refused, providers: [...providers.values()], configured, changed };
}

/** Clusters with the same one share a new provider. */
function keyOfPlugin({ exec, secret, namespace }: SourceCluster): string {
  const { apiVersion, command, args, provideClusterInfo, interactiveMode } = exec;
  const own = secret ? [args, namespace] : [];
  return JSON.stringify([apiVersion, command, provideClusterInfo, interactiveMode, own]);
}

/** Whether a provider runs the plugin in the same way, apart from what a profile may add. */
function isCompatible({ execConfig }: Provider, { exec, secret }: SourceCluster): boolean {
  const { apiVersion, command, args, env, provideClusterInfo = false } = execConfig;
  if (provideClusterInfo !== exec.provideClusterInfo) return false;
  // Where the plugin is on the machine of the controller is the operator's to say.
  if (secret) return basename(command) === exec.command && isDeepStrictEqual(args ?? [], [...exec.args]);
  return (
    apiVersion === exec.apiVersion &&
    command === exec.command &&
    (args ?? []).every((argument, index) => argument === exec.args[index]) &&
    (env ?? []).every((variable) => hasVariable(exec.env, variable))
  );
}

/** Why a provider does not run the plugin as the cluster needs it. */
function problemOf(
  source: SourceCluster,
  provider: Provider,
  configured: readonly ConfiguredProvider[],
  clusterManager: string,
): string | undefined {
  const { namespace, name } = source;
  const spec = { clusterManager: { name: clusterManager } };
  const profile = { metadata: { namespace, name }, spec, status: { accessProviders: [entryOf(source, provider)] } };
  try {
    const { exec, ignored } = resolve(profile, configured);
    const [first] = ignored;
    if (first) return `${first.path}: ${first.reason}`;
    const isSame =
      isDeepStrictEqual(exec.args, [...source.exec.args]) && source.exec.env.every((one) => hasVariable(exec.env, one));
    return isSame || source.secret ? undefined : 'its arguments and variables are others';
  } catch (error) {
    if (error instanceof ProfileError) return withoutProfile(error.message, fullName(source));
    throw error;
  }
}

/** How the cluster is published: with what the provider lacks. */
function entryOf({ cluster, exec }: SourceCluster, { name, execConfig }: Provider): AccessProvider {
  const { args, envs } = additionsOf(exec, execConfig);
  const extensions: readonly NamedExtension[] = [
    ...(exec.config === undefined ? [] : [{ name: extensionNames.config, extension: exec.config }]),
    ...(args.length === 0 ? [] : [{ name: extensionNames.args, extension: [...args] }]),
    ...(envs.length === 0
      ? []
      : [{ name: extensionNames.envs, extension: Object.fromEntries(envs.map((one) => [one.name, one.value])) }]),
  ];
  return { name, cluster: { ...kubeconfigCluster(cluster), ...(extensions.length === 0 ? {} : { extensions }) } };
}

/** What a profile has to add to the provider's own arguments and variables. */
function additionsOf(exec: ResolvedExec, { args, env }: ExecConfig) {
  return {
    args: exec.args.slice(args?.length ?? 0),
    envs: exec.env.filter((variable) => !hasVariable(env ?? [], variable)),
  };
}

const hasVariable = (env: readonly EnvVar[], { name, value }: EnvVar) =>
  env.some((variable) => variable.name === name && variable.value === value);

function newProvider(group: readonly SourceCluster[], isTaken: (name: string) => boolean): Provider {
  const [first] = group;
  if (!first) throw new Error('a group has a member');
  const { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode } = first.exec;
  let common = args.length;
  let shared = env;
  for (const { exec } of group) {
    const differs = args.findIndex((argument, index) => argument !== exec.args[index]);
    if (differs >= 0) common = Math.min(common, differs);
    shared = shared.filter((variable) => hasVariable(exec.env, variable));
  }
  let name = first.type;
  for (let count = 2; isTaken(name); count++) name = `${first.type}-${count}`;
  return {
    name,
    execConfig: {
      apiVersion,
      command,
      ...(common === 0 ? {} : { args: args.slice(0, common) }),
      ...(shared.length === 0 ? {} : { env: shared }),
      ...(provideClusterInfo ? { provideClusterInfo } : {}),
      ...(installHint === undefined ? {} : { installHint }),
      interactiveMode,
    },
    ...(first.secret ? { allowedProfiles: { namespaces: [first.namespace] } } : { allowedServers: [] }),
  };
}

const isOne = (pattern: UrlPattern | { readonly problem: string }) =>
  !('problem' in pattern || 'network' in pattern || pattern.labels.includes('*'));
const isOneUrl = (text: string) => isOne(parseUrlPattern(text, ['http:', 'https:', 'socks5:']));
/** Whether a list takes a value for itself alone. */
const isExact = {
  allowedServers: isOneUrl,
  allowedServerNames: (text: string) => isOne(parseHostPattern(text)),
  allowedProxies: isOneUrl,
  allowedArgs: (text: string) => !text.includes('*'),
  allowedEnvVars: (name: string) => /^[^*=,]+$/.test(name),
} as const;

/**
 * With what a cluster needs. A list that the provider does not have allows everything already. Throws an `Unusable` if a value would let
 * others through too: whoever wrote the kubeconfig chose it.
 */
function widened(provider: Provider, { cluster, exec }: SourceCluster): Provider {
  const { args, envs } = additionsOf(exec, provider.execConfig);
  const { server, tlsServerName, proxyUrl, insecureSkipTlsVerify } = cluster;
  const isOpenToArgs = provider.profileSourcedCLIArgsPolicy === 'Append';
  const isOpenToEnvs = (provider.profileSourcedEnvVarsPolicy ?? 'Ignore') !== 'Ignore';
  const hasServers = provider.allowedServers !== undefined;
  const lists: readonly (readonly [keyof typeof isExact, readonly (string | undefined)[], boolean])[] = [
    ['allowedServers', [server], hasServers],
    ['allowedServerNames', [tlsServerName], hasServers],
    ['allowedProxies', [proxyUrl], hasServers],
    ['allowedArgs', args, !isOpenToArgs],
    ['allowedEnvVars', envs.map(({ name }) => name), !isOpenToEnvs],
  ];
  const additions = lists.flatMap(([field, values, isNeeded]) => {
    const { [field]: before } = provider;
    // A list that is there has to have the values; one that is not, only if it is needed.
    if (!isNeeded && !before) return [];
    const added = values.filter((value) => value !== undefined).filter((value) => !before?.includes(value));
    return added.length === 0 ? [] : [{ field, before, added }];
  });
  for (const { field, added } of additions) {
    const pattern = added.find((value) => !isExact[field](value));
    if (pattern === undefined) continue;
    throw new Unusable(
      `${JSON.stringify(pattern)} would not stand for itself alone in ${field} of provider ${provider.name}: write it without * and without the form of a CIDR, or write the provider yourself`,
    );
  }
  return {
    ...provider,
    ...(insecureSkipTlsVerify ? { allowInsecureTLS: true } : {}),
    ...(args.length === 0 ? {} : { profileSourcedCLIArgsPolicy: 'Append' }),
    // A kubeconfig's variables beat those of the process.
    ...(envs.length === 0 || isOpenToEnvs ? {} : { profileSourcedEnvVarsPolicy: 'Replace' }),
    ...Object.fromEntries(additions.map(({ field, before = [], added }) => [field, [...before, ...new Set(added)]])),
  };
}

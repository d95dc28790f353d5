/** How `clusterprofile credential` is called from elsewhere: another folder, another KUBECONFIG, another time. */
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';
import {
  type ConfiguredProvider,
  hideShapes,
  parseFlags,
  pickFlags,
  secretsOfArguments,
  secretsOfEnvironment,
} from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import { type HubReader, hubOfPlugins, openHub } from '../hub.ts';
import { isReadOnce, kubeconfigPaths } from '../input.ts';
import { requiredProvidersOf } from '../providers.ts';
import type { Call } from '../verb.ts';
import type { CredentialCommand } from './entries.ts';

/** This very file: a local install is not in `PATH`, and another one may be. */
export function thisProgram(): Pick<CredentialCommand, 'command' | 'before'> {
  return { command: process.execPath, before: [resolve(process.argv[1] ?? '')] };
}

/**
 * What users of a kubeconfig need beside the place of their ClusterProfiles, which are in `files`, on the hub, or (`isForCommands`) in files
 * of this process, for commands that may read the hub themselves. `hub` is the one that the call names, or whose ClusterProfiles are read.
 */
export async function credentialCommand(call: Call, files: readonly string[], isForCommands: boolean) {
  const { options } = call;
  const [pod, user] = [options.text('from-pod-args'), options.text('as')];
  const isPodOfHub = pod !== undefined && pod !== '-' && !existsSync(pod);
  const isOfHub = options.texts('filename').length === 0 || isPodOfHub;
  const readsHub = isForCommands ? isPodOfHub : isOfHub;
  const isNamed = options.text('kubeconfig') !== undefined || options.text('context') !== undefined;
  refuseReadOnce(call, files, readsHub || isNamed);
  const { providers } = await requiredProvidersOf(call);
  const readBy = isOfHub ? openHub : hubOfPlugins;
  const hub = isOfHub || isForCommands || isNamed ? await readBy(call) : undefined;
  const { after, env } = hub ? hubArguments(hub) : { after: [], env: isForCommands ? inKubeconfig() : [] };
  const groups = options.texts('as-group').flatMap((group) => ['--as-group', group]);
  const as = readsHub && user !== undefined ? ['--as', user, ...groups] : [];
  return { providers, hub, after: [...after, ...as, ...providerArguments(call, providers)], env };
}

/** Throws a `Failure` if stdin or a pipe is among the files that the kubeconfig's users will read each time. */
function refuseReadOnce(call: Call, files: readonly string[], readsHub: boolean): void {
  const { options, providerFlags } = call;
  const all = [
    ...files,
    options.text('from-pod-args') ?? [],
    pickFlags(providerFlags).values['clusterprofile-provider-file'] ?? [],
    ...(readsHub ? kubeconfigPaths(options.text('kubeconfig')).map((path) => resolve(path)) : []),
  ].flat();
  const found = all.find(isReadOnce);
  if (found === undefined) return;
  const how = 'write what is read into a file, and name the file';
  throw Failure.usage(`a kubeconfig cannot read ${found === '-' ? 'stdin' : found} again`, how);
}

/** The flags of the providers. Throws a `Failure` for a relative path that another folder would change, and for secrets. */
function providerArguments(
  { providerFlags, options }: Call,
  providers: readonly ConfiguredProvider[],
): readonly string[] {
  for (const { name, execConfig } of providers) {
    const { command } = execConfig;
    if (!command.includes('/') || isAbsolute(command)) continue;
    const message = `the command of provider ${name}, ${command}, is relative to the working directory`;
    throw Failure.configuration(message, 'write an absolute path, since the kubeconfig is used from anywhere');
  }
  refuseSecrets(providerFlags);
  const pod = options.text('from-pod-args');
  const container = options.text('container');
  return [
    ...withAbsoluteFile(providerFlags),
    ...(pod === undefined ? [] : ['--from-pod-args', existsSync(pod) ? resolve(pod) : withNamespace(pod, options)]),
    ...(container === undefined ? [] : ['--container', container]),
  ];
}

/** A workload of the hub, with the namespace of `-n` in its name: the option `-n` itself would also apply to profiles. */
function withNamespace(workload: string, options: Call['options']): string {
  const namespace = options.text('namespace');
  return namespace === undefined || workload.split('/').length !== 2 ? workload : `${namespace}/${workload}`;
}

function refuseSecrets(flags: readonly string[]): void {
  const { values, problems } = pickFlags(flags);
  for (const { name, execConfig } of parseFlags(values, problems).providers) {
    const { args, env } = execConfig;
    const secrets = [...secretsOfArguments(args), ...secretsOfEnvironment(env)];
    const texts = [...args, ...env.map(({ value }) => value)];
    if (secrets.length === 0 && texts.every((text) => hideShapes(text) === text)) continue;
    const message = `the flags of provider ${name} have what looks like a secret, which would stand in the kubeconfig`;
    throw Failure.configuration(message, 'put the provider into a file, and give --clusterprofile-provider-file');
  }
}

function withAbsoluteFile(flags: readonly string[]): readonly string[] {
  return flags.map((flag, index) => {
    const [, inline] = /^--?clusterprofile-provider-file=(.*)$/s.exec(flag) ?? [];
    if (inline !== undefined) return `--clusterprofile-provider-file=${resolve(inline)}`;
    const isValue = /^--?clusterprofile-provider-file$/.test(flags[index - 1] ?? '');
    return isValue ? resolve(flag) : flag;
  });
}

/** Names the hub by its files and its context, so that KUBECONFIG of the later call does not count. */
function hubArguments({ files, context }: HubReader): Pick<CredentialCommand, 'after' | 'env'> {
  const [file, second] = existing(files);
  // A pod's service account is used only if KUBECONFIG is empty. In the later call KUBECONFIG may name the written kubeconfig.
  if (file === undefined) return { after: [], env: [{ name: 'KUBECONFIG', value: '' }] };
  return second === undefined
    ? { after: ['--kubeconfig', file, '--context', context], env: [] }
    : { after: ['--context', context], env: inKubeconfig(files) };
}

/** `KUBECONFIG` of this call, for a plugin that may read it and a hub that cannot be named. */
function inKubeconfig(files = kubeconfigPaths(undefined)): CredentialCommand['env'] {
  return [{ name: 'KUBECONFIG', value: existing(files).join(delimiter) }];
}

function existing(files: readonly string[]): readonly string[] {
  return [...new Set(files.map((path) => resolve(path)))].filter((path) => existsSync(path));
}

/**
 * The user's defaults, so that no call needs a long line of flags: `clusterprofile.yaml` names the hub, the namespace and the provider
 * file. Flags win, and KUBECONFIG wins over the hub.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { at, nearest, parseYaml, printableLines } from '../diagnose/index.ts';
import { configFile } from './cache.ts';
import { Failure } from './failure.ts';
import { type Call, hubContextOf, Options, takes, type Verb } from './verb.ts';

const fields = ['kubeconfig', 'context', 'namespace', 'providerFile'] as const;
type Field = (typeof fields)[number];

interface Defaults {
  readonly file: string;
  /** Paths are absolute. */
  readonly values: { readonly [F in Field]?: string };
}

/** `undefined` if there is no such file. Throws a `Failure` that names the file and the field. */
export async function readDefaults(file = configFile()): Promise<Defaults | undefined> {
  if (file === undefined || !existsSync(file)) {
    if (!process.env.CLUSTERPROFILE_CONFIG) return undefined;
    throw Failure.configuration(`CLUSTERPROFILE_CONFIG ${file} does not exist`, 'correct the path');
  }
  const refuse = (problem: string, hint?: string): never => {
    throw Failure.configuration(`${file}: ${problem}`, hint);
  };
  // Most verbs need it too, but not all.
  const { parseManifest } = await import('./profiles.ts');
  // No manifest, so `no` is a name, as in a provider file.
  const [content = {}] = parseManifest(readFileSync(file, 'utf8'), file, (text) => [parseYaml(text)]);
  const values = Object.keys(Object(content)).map((name) => {
    const field = fields.find((one) => one === name);
    const value = at(content, name);
    const meant = nearest(name, fields);
    const hint = meant ? `did you mean ${meant}?` : `the fields are ${fields.join(', ')}`;
    if (!field) return refuse(`${name}: is not a field`, hint);
    if (typeof value !== 'string' || value === '') return refuse(`${name}: must be text`);
    return [field, field === 'kubeconfig' || field === 'providerFile' ? pathIn(dirname(file), value) : value] as const;
  });
  return { file, values: Object.fromEntries(values) };
}

/** Relative to the folder of the file that names it; `~/` is the home. */
function pathIn(folder: string, path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(folder, path);
}

/** Adds the defaults, and names those `used`. Throws the `Failure` that came instead of them if the verb would use them. */
export function withDefaults(
  defaults: Defaults | Failure | undefined,
  verb: Verb,
  { options, providerFlags }: Pick<Call, 'options' | 'providerFlags'>,
) {
  if (defaults instanceof Failure && takes(verb, 'kubeconfig')) throw defaults;
  if (!defaults || defaults instanceof Failure) return { options, providerFlags, used: [] };
  const { values } = defaults;
  const has = (option: string) => options.isGiven(option);
  const readsFiles = has('filename');
  const hubContext = hubContextOf(verb);
  // A file and a context belong together. An empty KUBECONFIG means the service account of a pod.
  const isHubGiven = has('kubeconfig') || has(hubContext) || process.env.KUBECONFIG !== undefined;
  const takesHub = takes(verb, 'kubeconfig') && !isHubGiven && (!readsFiles || verb.runsPlugins === true);
  // The default namespace is that of ClusterProfiles; `shards` reads Leases.
  const hasNamespace = has('namespace') || has('all-namespaces');
  const takesNamespace = takes(verb, 'namespace') && verb.name !== 'shards' && !readsFiles && !hasNamespace;
  const ofProviders = /^--?clusterprofile-(?:provider-file|access-provider)\b/;
  const hasProviders = providerFlags.some((flag) => ofProviders.test(flag)) || has('from-pod-args');
  const takesProviders = verb.takesProviderFlags === true && verb.name !== 'lint' && !hasProviders;
  const isTaken = { kubeconfig: takesHub, context: takesHub, namespace: takesNamespace, providerFile: takesProviders };
  const used = fields.filter((field) => values[field] !== undefined && isTaken[field]);
  const added = used
    .filter((field) => field !== 'providerFile')
    .map((field) => [field === 'context' ? hubContext : field, values[field]]);
  const flag = `--clusterprofile-provider-file=${values.providerFile}`;
  return {
    options: options.with(Object.fromEntries(added)),
    providerFlags: used.includes('providerFile') ? [...providerFlags, flag] : providerFlags,
    used,
  };
}

/** For the help of a verb: where defaults come from. */
export function describeDefaults(defaults: Defaults | Failure | undefined, verb: Verb): string | undefined {
  if (!takes(verb, 'kubeconfig')) return undefined;
  if (defaults instanceof Failure) return printableLines(defaults.message);
  if (!defaults)
    return `Defaults may be in ${configFile() ?? 'the file of CLUSTERPROFILE_CONFIG'}: ${fields.join(', ')}.`;
  const { used } = withDefaults(defaults, verb, { options: new Options({}), providerFlags: [] });
  const shown = used.map((field) => `${field} ${defaults.values[field]}`);
  return `Defaults from ${defaults.file}: ${shown.join(', ') || 'none for this verb'}.`;
}

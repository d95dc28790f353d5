import { isObject } from '../errors/check-argument.ts';
import { argRule, envVarRule } from './env-rules.ts';
import { copyJson, type Json } from './json.ts';
import { type ConfiguredProvider, type EnvVar, envNameProblem, lastOfEachName } from './provider.ts';
import type { Ignored, Refuse } from './refusal.ts';

/** The three extensions that KEP-4322 and KEP-541 reserve. Others are ignored. */
export const extensionNames = {
  config: 'client.authentication.k8s.io/exec',
  args: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args',
  envs: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs',
} as const;

/** The provider's exec config with the extensions applied. */
export interface AppliedExtensions {
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  /** Names in `env` that come from the profile, and yield to variables of the process's own environment. */
  readonly appendIfNotExists: readonly string[];
  readonly config?: Json;
}

interface Extension {
  readonly name: string;
  readonly extension?: unknown;
}

/** Applies a profile's extensions to a provider's exec config, within the provider's policies. */
export function applyExtensions(
  extensions: readonly Extension[],
  provider: ConfiguredProvider,
  path: string,
  ignored: Ignored[],
  refuse: Refuse,
): AppliedExtensions {
  const { execConfig } = provider;
  let args = execConfig.args;
  let env = execConfig.env;
  let appendIfNotExists: readonly string[] = [];
  let config: Json | undefined;
  const seen = new Map<string, number>();
  for (const [index, { name, extension }] of extensions.entries()) {
    const at = `${path}[${index}]`;
    const first = seen.get(name);
    if (first !== undefined) {
      refuse('EXTENSION_INVALID', `${at}.name`, `"${name}" duplicates ${path}[${first}]: keep one of the two`);
    }
    seen.set(name, index);
    const value = `${at}.extension`;
    // `null` for the whole extension means none.
    if (extension === null || extension === undefined) continue;
    if (name === extensionNames.config) {
      config = copyJson(extension, value, (where, reason) => refuse('EXTENSION_INVALID', where, reason));
      if (!execConfig.provideClusterInfo) {
        ignored.push({ path: value, reason: `provideClusterInfo of provider ${provider.name} is false` });
      }
    } else if (name === extensionNames.args) {
      if (provider.profileSourcedCLIArgsPolicy === 'Append')
        args = [...args, ...readArgs(extension, provider, value, refuse)];
      else ignored.push({ path: value, reason: `profileSourcedCLIArgsPolicy of provider ${provider.name} is Ignore` });
    } else if (name === extensionNames.envs) {
      if (provider.profileSourcedEnvVarsPolicy === 'Ignore') {
        ignored.push({ path: value, reason: `profileSourcedEnvVarsPolicy of provider ${provider.name} is Ignore` });
      } else {
        const added = allowedEnvs(readEnvs(extension, value, refuse), provider, value, ignored, refuse);
        // Configured variables keep their order, added ones follow, sorted.
        env = lastOfEachName([...env, ...added]);
        if (provider.profileSourcedEnvVarsPolicy === 'AppendIfNotExists') {
          appendIfNotExists = added.map((variable) => variable.name);
        }
      }
    } else {
      ignored.push({ path: at, reason: `"${name}" is not an extension that this library reads` });
    }
  }
  return { args, env, appendIfNotExists, ...(config === undefined ? {} : { config }) };
}

function readArgs(
  extension: unknown,
  { allowedArgs }: ConfiguredProvider,
  path: string,
  refuse: Refuse,
): readonly string[] {
  if (!Array.isArray(extension)) return refuse('EXTENSION_INVALID', path, 'must be a list of arguments');
  const items: readonly unknown[] = extension;
  const rule = argRule(allowedArgs);
  // Spread: map alone leaves holes out.
  return [...items].map((item, index) => {
    const at = `${path}[${index}]`;
    const result = toText(item);
    if ('problem' in result) return refuse('EXTENSION_INVALID', at, result.problem);
    const refusal = rule(result.text);
    return refusal ? refuse('ARG_NOT_ALLOWED', at, refusal) : result.text;
  });
}

function readEnvs(extension: unknown, path: string, refuse: Refuse): readonly EnvVar[] {
  if (!isObject(extension)) {
    return refuse('EXTENSION_INVALID', path, 'must be an object that maps names of environment variables to values');
  }
  return Object.entries(extension)
    .map(([name, item]) => {
      const at = `${path}[${JSON.stringify(name)}]`;
      const problem = envNameProblem(name);
      if (problem) return refuse('EXTENSION_INVALID', at, problem);
      const result = toText(item);
      if ('problem' in result) return refuse('EXTENSION_INVALID', at, result.problem);
      return { name, value: result.text };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Converts integers and booleans to text, as in Go. Refuses values without one obvious text. */
function toText(value: unknown): { readonly text: string } | { readonly problem: string } {
  switch (typeof value) {
    case 'string':
      if (value.includes('\0')) return { problem: 'holds a NUL character, which no process can be given' };
      return { text: value };
    case 'boolean':
      return { text: String(value) };
    case 'number':
      // Go has no negative zero among its integers.
      if (Number.isSafeInteger(value)) return { text: String(value) };
      if (Number.isInteger(value)) return { problem: 'is an integer beyond 2^53: write it as a string' };
      return { problem: 'is not an integer: write it as a string' };
    default:
      return { problem: `must be text, an integer or a boolean, not ${describe(value)}` };
  }
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'a list' : 'an object';
}

/** The variables that the provider's rules allow. */
function allowedEnvs(
  given: readonly EnvVar[],
  { name: provider, execConfig, profileSourcedEnvVarsPolicy, allowedEnvVars }: ConfiguredProvider,
  path: string,
  ignored: Ignored[],
  refuse: Refuse,
): readonly EnvVar[] {
  const configured = new Set(execConfig.env.map(({ name }) => name));
  const rule = envVarRule(allowedEnvVars);
  return given.filter(({ name }) => {
    const at = `${path}[${JSON.stringify(name)}]`;
    if (configured.has(name) && profileSourcedEnvVarsPolicy === 'AppendIfNotExists') {
      const reason = `provider ${provider} sets it, and profileSourcedEnvVarsPolicy is AppendIfNotExists`;
      ignored.push({ path: at, reason });
      return false;
    }
    const refusal = rule(name);
    if (refusal) refuse('ENV_NOT_ALLOWED', at, refusal);
    return true;
  });
}

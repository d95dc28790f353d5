/** What the extensions of a profile add to a plugin: arguments, variables and a config, if the provider's rules allow them. */
import { isObject } from '../util/guards.ts';
import type { Ignored, ParsedCluster, Refuse } from './cluster-profile.ts';
import { copyJson, type Json } from './json.ts';
import { type EnvVar, envNameProblem, lastOfEachName } from './provider.ts';
import type { ConfiguredProvider } from './provider-schema.ts';
import { createGlob } from './url-pattern.ts';

/** The three extensions that KEP-4322 and KEP-541 reserve. Others are ignored. */
export const extensionNames = {
  config: 'client.authentication.k8s.io/exec',
  args: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args',
  envs: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs',
} as const;

type Extensions = ParsedCluster['extensions'];

/** The extensions that have a value: `null` means none. A second one of a name is refused. */
function* valuesOf(extensions: Extensions, path: string, refuse: Refuse) {
  const seen = new Map<string, number>();
  for (const [index, { name, extension }] of extensions.entries()) {
    const at = `${path}[${index}]`;
    const first = seen.get(name);
    if (first !== undefined) {
      refuse('EXTENSION_INVALID', `${at}.name`, `"${name}" duplicates ${path}[${first}]: keep one of the two`);
    }
    seen.set(name, index);
    if (extension !== null && extension !== undefined) yield { name, extension, at };
  }
}

/** The extension for plugins, of a kubeconfig. */
export function readConfigExtension(extensions: Extensions, path: string, refuse: Refuse): Json | undefined {
  const found = [...valuesOf(extensions, path, refuse)].find(({ name }) => name === extensionNames.config);
  return found && copyConfig(found.extension, `${found.at}.extension`, refuse);
}

function copyConfig(extension: unknown, path: string, refuse: Refuse): Json {
  return copyJson(extension, path, (where, reason) => refuse('EXTENSION_INVALID', where, reason));
}

/** A copy of the provider's exec config with what the profile's extensions add to it, within the provider's policies. */
export function applyExtensions(
  extensions: Extensions,
  provider: ConfiguredProvider,
  path: string,
  ignored: Ignored[],
  refuse: Refuse,
) {
  const { installHint, ...execConfig } = provider.execConfig;
  let { args, env } = execConfig;
  let appendIfNotExists: readonly string[] = [];
  let config: Json | undefined;
  for (const { name, extension, at } of valuesOf(extensions, path, refuse)) {
    const value = `${at}.extension`;
    if (name === extensionNames.config) {
      config = copyConfig(extension, value, refuse);
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
        env = [...env, ...added];
        if (provider.profileSourcedEnvVarsPolicy === 'AppendIfNotExists') {
          appendIfNotExists = added.map((variable) => variable.name);
        }
      }
    } else {
      ignored.push({ path: at, reason: `"${name}" is not an extension that this library reads` });
    }
  }
  return {
    ...execConfig,
    ...(installHint ? { installHint } : {}),
    args: [...args],
    env: lastOfEachName(env),
    ...(appendIfNotExists.length === 0 ? {} : { appendIfNotExists }),
    ...(config === undefined ? {} : { config }),
  };
}

function readArgs(
  extension: unknown,
  { allowedArgs }: ConfiguredProvider,
  path: string,
  refuse: Refuse,
): readonly string[] {
  if (!Array.isArray(extension)) return refuse('EXTENSION_INVALID', path, 'must be a list of arguments');
  const items: readonly unknown[] = extension;
  // Spread: map alone leaves holes out.
  return [...items].map((item, index) => {
    const at = `${path}[${index}]`;
    const text = toText(item, at, refuse);
    // publish writes each argument of a thousand clusters as it is.
    if (!allowedArgs || allowedArgs.includes(text) || allowedArgs.some((one) => createGlob(one)(text))) return text;
    return refuse('ARG_NOT_ALLOWED', at, `matches none of allowedArgs (${allowedArgs.join(', ') || 'empty'})`);
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
      return { name, value: toText(item, at, refuse) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Converts integers and booleans to text, as in Go. Refuses values without one obvious text. */
function toText(value: unknown, at: string, refuse: Refuse): string {
  const bad = (problem: string) => refuse('EXTENSION_INVALID', at, problem);
  switch (typeof value) {
    case 'string':
      return value.includes('\0') ? bad('holds a NUL character, which no process can be given') : value;
    case 'boolean':
      return String(value);
    case 'number':
      // Go has no negative zero among its integers.
      if (Number.isSafeInteger(value)) return String(value);
      return bad(`is ${Number.isInteger(value) ? 'an integer beyond 2^53' : 'not an integer'}: write it as a string`);
    default:
      return bad(`must be text, an integer or a boolean, not ${describe(value)}`);
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

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * Refused to profiles, unless the operator's `allowedEnvVars` has the exact name. Kinds of names rather than a list of
 * products: the next SDK will name its variables in the same way. Case makes no difference.
 */
export const dangerousEnvVars = [
  {
    does: 'makes the plugin run other code',
    names: words(`
      LD_* DYLD_* *PRELOAD* *PLUGIN* *MODULE* *COMMAND* *EXECUTABLE* *_EXEC *_EXEC_* *OPTIONS *OPTS *FLAGS *DEBUG* *TRACE*
      GLIBC_* MALLOC_* GHCRTS OCAMLRUNPARAM NODE_* BUN_* DENO_* PYTHON* PERL* RUBY* GEM_* BUNDLE_* LUA_* JAVA_* _JAVA_*
      DOTNET_* CORECLR_* COMPLUS_* GIT_* BASH* SHELL* ENV IFS PS4 LESS* BROWSER VISUAL *EDITOR *PAGER *ASKPASS *CMD *RSH *_SSH
      *DIFF *_ARGS *SOURCES`),
  },
  {
    does: 'says which files the plugin reads or writes, and so whose identity it uses',
    names: words(`
      *FILE* *PATH* *DIR *DIRS *DIRECTORY *FOLDER *HOME *ROOT *ROOTS* *CONF *CONFIG* *RC *STORE *CREDENTIALS* TMP TEMP XDG_*
      CLOUDSDK_* KRB5* TZ* TERMINFO* ICU_* ODBC*`),
  },
  {
    does: 'says which server the plugin talks to',
    names: words(`
      *URL* *URI *URIS *URI_* *ENDPOINT* *HOST* *ADDR* *AUTHORITY* *ISSUER* *DOMAIN* *SERVER *SERVERS *SERVER_NAME *SOCK*
      *PROXY* *GATEWAY* *DNS* *_SNI* *_IP *_IPS PORT *_PORT *_PORT_* KUBERNETES_* *_CLOUD *CLOUD_NAME *_ENVIRONMENT
      *BOOTSTRAP* *DSN *_SITE DISPLAY`),
  },
  {
    does: 'says which certificates the plugin trusts, or whether it looks at them',
    names: words('*CERT* CA CA_* *_CA *_CA_* *SSL* *TLS* *TRUST* *VERIFY* *INSECURE* *UNSAFE* *BUNDLE'),
  },
  {
    does: 'is a credential, and so says whose identity the plugin uses',
    names: words('*_KEY *_PEM *TOKEN *SECRET *PASSWORD *PASSWD *_CREDS'),
  },
];

const dangerous = dangerousEnvVars.flatMap(({ does, names }) =>
  names.map((pattern) => ({ does, pattern, matches: createGlob(pattern) })),
);

/**
 * Tells why a profile may not set a variable of this name, if it may not. `allowed` are the provider's `allowedEnvVars`: without them all
 * but the dangerous kinds are allowed, and no list of those can be complete.
 */
export function envVarRule(allowed: readonly string[] | undefined): (name: string) => string | undefined {
  const isOpen = allowed?.map(createGlob);
  return (name) => {
    if (allowed?.includes(name)) return undefined;
    const upper = name.toUpperCase();
    const danger = dangerous.find(({ matches }) => matches(upper));
    if (danger) {
      const { does, pattern } = danger;
      return `is a variable that ${does} (${pattern}): only its exact name in allowedEnvVars allows it`;
    }
    if (!isOpen || isOpen.some((matches) => matches(name))) return undefined;
    return `is not in allowedEnvVars (${allowed?.join(', ') || 'empty'})`;
  };
}

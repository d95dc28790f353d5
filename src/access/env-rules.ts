/** Which environment variables and arguments a profile may set. */
import { matchesGlob } from './glob.ts';

/** Names of variables that do the same harm in a profile's hands. */
export interface DangerousEnvVars {
  /** What such a variable does: `says which files the plugin reads`. */
  readonly does: string;
  /** `*` stands for any characters, and case makes no difference. */
  readonly names: readonly string[];
}

/**
 * Refused to profiles, unless the operator's `allowedEnvVars` has the exact name. Kinds of names rather than a list of
 * products: whoever writes the next SDK calls its variables by what they are, too.
 */
export const dangerousEnvVars: readonly DangerousEnvVars[] = [
  {
    does: 'makes the plugin run other code',
    names: [
      ...['LD_*', 'DYLD_*', '*PRELOAD*', '*PLUGIN*', '*MODULE*', '*COMMAND*', '*EXECUTABLE*', '*_EXEC', '*_EXEC_*'],
      ...['*OPTIONS', '*OPTS', '*FLAGS', '*DEBUG*', '*TRACE*', 'GLIBC_*', 'MALLOC_*', 'GHCRTS', 'OCAMLRUNPARAM'],
      ...['NODE_*', 'BUN_*', 'DENO_*', 'PYTHON*', 'PERL*', 'RUBY*', 'GEM_*', 'BUNDLE_*', 'LUA_*', 'JAVA_*', '_JAVA_*'],
      ...['DOTNET_*', 'CORECLR_*', 'COMPLUS_*', 'GIT_*', 'BASH*', 'SHELL*', 'ENV', 'IFS', 'PS4', 'LESS*'],
      ...['BROWSER', 'VISUAL', '*EDITOR', '*PAGER', '*ASKPASS'],
    ],
  },
  {
    does: 'says which files the plugin reads or writes, and so whose identity it uses',
    names: [
      ...[
        '*FILE*',
        '*PATH*',
        '*DIR',
        '*DIRS',
        '*DIRECTORY',
        '*FOLDER',
        '*HOME',
        '*ROOT',
        '*ROOTS*',
        '*CONF',
        '*CONFIG*',
      ],
      ...['*RC', '*STORE', '*CREDENTIALS*', 'TMP', 'TEMP', 'XDG_*', 'CLOUDSDK_*', 'KRB5*'],
    ],
  },
  {
    does: 'says which server the plugin talks to',
    names: [
      ...['*URL*', '*URI', '*URIS', '*URI_*', '*ENDPOINT*', '*HOST*', '*ADDR*', '*AUTHORITY*', '*ISSUER*', '*DOMAIN*'],
      ...['*SERVER', '*SERVERS', '*SERVER_NAME', '*SOCK*', '*PROXY*', '*GATEWAY*', '*DNS*', '*_SNI*', '*_IP', '*_IPS'],
      ...['PORT', '*_PORT', '*_PORT_*', 'KUBERNETES_*'],
    ],
  },
  {
    does: 'says which certificates the plugin trusts, or whether it looks at them',
    names: [
      ...['*CERT*', 'CA', 'CA_*', '*_CA', '*_CA_*', '*SSL*', '*TLS*', '*TRUST*', '*VERIFY*', '*INSECURE*', '*UNSAFE*'],
      ...['*BUNDLE'],
    ],
  },
];

/** Why a profile may not set a variable, or `undefined`. `allowed` are the provider's `allowedEnvVars`. */
export function envVarRefusal(name: string, allowed: readonly string[] | undefined): string | undefined {
  if (allowed?.includes(name)) return undefined;
  const upper = name.toUpperCase();
  for (const { does, names } of dangerousEnvVars) {
    const pattern = names.find((known) => matchesGlob(known, upper));
    if (pattern === undefined) continue;
    return `is a variable that ${does} (${pattern}): only its exact name in allowedEnvVars opens it`;
  }
  if (!allowed || allowed.some((pattern) => matchesGlob(pattern, name))) return undefined;
  return `is not in allowedEnvVars (${allowed.join(', ') || 'empty'})`;
}

/** Why a profile may not add an argument, or `undefined`. `allowed` are the provider's `allowedArgs`. */
export function argRefusal(argument: string, allowed: readonly string[] | undefined): string | undefined {
  if (!allowed || allowed.some((pattern) => matchesGlob(pattern, argument))) return undefined;
  return `matches none of allowedArgs (${allowed.join(', ') || 'empty'})`;
}

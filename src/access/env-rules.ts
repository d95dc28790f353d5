/** Rules for the environment variables and arguments that a profile may set. */
import { createGlob } from './glob.ts';

/** Names of variables that do the same harm if a profile sets them. */
export interface DangerousEnvVars {
  /** What such a variable does: `says which files the plugin reads`. */
  readonly does: string;
  /** `*` stands for any characters, and case makes no difference. */
  readonly names: readonly string[];
}

/**
 * Refused to profiles, unless the operator's `allowedEnvVars` has the exact name. Kinds of names rather than a list of
 * products: the next SDK will name its variables in the same way.
 */
export const dangerousEnvVars: readonly DangerousEnvVars[] = [
  {
    does: 'makes the plugin run other code',
    names: [
      ...['LD_*', 'DYLD_*', '*PRELOAD*', '*PLUGIN*', '*MODULE*', '*COMMAND*', '*EXECUTABLE*', '*_EXEC', '*_EXEC_*'],
      ...['*OPTIONS', '*OPTS', '*FLAGS', '*DEBUG*', '*TRACE*', 'GLIBC_*', 'MALLOC_*', 'GHCRTS', 'OCAMLRUNPARAM'],
      ...['NODE_*', 'BUN_*', 'DENO_*', 'PYTHON*', 'PERL*', 'RUBY*', 'GEM_*', 'BUNDLE_*', 'LUA_*', 'JAVA_*', '_JAVA_*'],
      ...['DOTNET_*', 'CORECLR_*', 'COMPLUS_*', 'GIT_*', 'BASH*', 'SHELL*', 'ENV', 'IFS', 'PS4', 'LESS*'],
      ...['BROWSER', 'VISUAL', '*EDITOR', '*PAGER', '*ASKPASS', '*CMD', '*RSH', '*_SSH', '*DIFF', '*_ARGS', '*SOURCES'],
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
      ...['*RC', '*STORE', '*CREDENTIALS*', 'TMP', 'TEMP', 'XDG_*', 'CLOUDSDK_*', 'KRB5*', 'TZ*', 'TERMINFO*', 'ICU_*'],
      ...['ODBC*'],
    ],
  },
  {
    does: 'says which server the plugin talks to',
    names: [
      ...['*URL*', '*URI', '*URIS', '*URI_*', '*ENDPOINT*', '*HOST*', '*ADDR*', '*AUTHORITY*', '*ISSUER*', '*DOMAIN*'],
      ...['*SERVER', '*SERVERS', '*SERVER_NAME', '*SOCK*', '*PROXY*', '*GATEWAY*', '*DNS*', '*_SNI*', '*_IP', '*_IPS'],
      ...['PORT', '*_PORT', '*_PORT_*', 'KUBERNETES_*', '*_CLOUD', '*CLOUD_NAME', '*_ENVIRONMENT', '*BOOTSTRAP*'],
      ...['*DSN', '*_SITE', 'DISPLAY'],
    ],
  },
  {
    does: 'says which certificates the plugin trusts, or whether it looks at them',
    names: [
      ...['*CERT*', 'CA', 'CA_*', '*_CA', '*_CA_*', '*SSL*', '*TLS*', '*TRUST*', '*VERIFY*', '*INSECURE*', '*UNSAFE*'],
      ...['*BUNDLE'],
    ],
  },
  {
    does: 'is a credential, and so says whose identity the plugin uses',
    names: ['*_KEY', '*_PEM', '*TOKEN', '*SECRET', '*PASSWORD', '*PASSWD', '*_CREDS'],
  },
];

const dangerous = dangerousEnvVars.flatMap(({ does, names }) =>
  names.map((pattern) => ({ does, pattern, matches: createGlob(pattern) })),
);

/** Why a profile may not set a variable or add an argument, or `undefined`. */
export type Refusal = (text: string) => string | undefined;

/**
 * Checks variables by name. `allowed` are the provider's `allowedEnvVars`: without them all but the dangerous kinds are allowed, and
 * no list of those can be complete.
 */
export function envVarRule(allowed: readonly string[] | undefined): Refusal {
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

/** Checks arguments. `allowed` are the provider's `allowedArgs`. */
export function argRule(allowed: readonly string[] | undefined): Refusal {
  const isOpen = allowed?.map(createGlob);
  return (argument) => {
    if (!isOpen || isOpen.some((matches) => matches(argument))) return undefined;
    return `matches none of allowedArgs (${allowed?.join(', ') || 'empty'})`;
  };
}

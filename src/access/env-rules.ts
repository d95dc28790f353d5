/** Which environment variables and arguments a profile may set. */

/**
 * Names that make a process run other code, read other configuration, trust other roots or take another way. Refused to
 * profiles, without regard to case, unless the operator's `allowedEnvVars` has the exact name. `*` stands for any characters.
 */
export const dangerousEnvVars: readonly string[] = [
  // other code
  'LD_*',
  'DYLD_*',
  'PATH',
  'NODE_*',
  'PYTHON*',
  'PERL5*',
  'PERLLIB',
  'RUBYOPT',
  'RUBYLIB',
  'CLASSPATH',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  '_JAVA_OPTIONS',
  'DOTNET_*',
  'CORECLR_*',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'BASH_ENV',
  'BASH_FUNC_*',
  'BASHOPTS',
  'SHELLOPTS',
  'ENV',
  'IFS',
  'PS4',
  'GIT_*',
  // other roots
  'SSL_CERT_*',
  '*_CA_BUNDLE',
  'OPENSSL_*',
  // other configuration, other identities
  'HOME',
  'XDG_*',
  'CURL_HOME',
  'NETRC',
  'KUBECONFIG',
  'CLOUDSDK_*',
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AZURE_CONFIG_DIR',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'KUBERNETES_EXEC_INFO',
  // another way
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'FTP_PROXY',
  'NO_PROXY',
];

const dangerous = dangerousEnvVars.map((pattern) => toRegExp(pattern, 'i'));

/** Why a profile may not set a variable, or `undefined`. `allowed` are the provider's `allowedEnvVars`. */
export function envVarRefusal(name: string, allowed: readonly string[] | undefined): string | undefined {
  if (allowed?.includes(name)) return undefined;
  if (dangerous.some((pattern) => pattern.test(name))) {
    return 'is a name that can change what the plugin runs, reads or trusts: only its exact name in allowedEnvVars opens it';
  }
  if (!allowed || allowed.some((pattern) => toRegExp(pattern).test(name))) return undefined;
  return `is not in allowedEnvVars (${allowed.join(', ') || 'empty'})`;
}

/** Why a profile may not add an argument, or `undefined`. `allowed` are the provider's `allowedArgs`. */
export function argRefusal(argument: string, allowed: readonly string[] | undefined): string | undefined {
  if (!allowed || allowed.some((pattern) => toRegExp(pattern).test(argument))) return undefined;
  return `matches none of allowedArgs (${allowed.join(', ') || 'empty'})`;
}

/** The whole text has to match; `*` stands for any characters. */
function toRegExp(pattern: string, flags = ''): RegExp {
  const escaped = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`, `s${flags}`);
}

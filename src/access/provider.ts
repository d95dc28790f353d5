/** What an operator configures for an access type. */
import type { ApiVersion } from './api-versions.ts';
import type { UrlPattern } from './url-pattern.ts';

/** What the plugin may do with the terminal: `Never`, `IfAvailable` or `Always`, as in a kubeconfig. */
export const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const;
export type InteractiveMode = (typeof interactiveModes)[number];

/** KEP-5339: what happens to the profile's additional-args. */
export const cliArgsPolicies = ['Append', 'Ignore'] as const;
export type CLIArgsPolicy = (typeof cliArgsPolicies)[number];

/** KEP-5339: what happens to the profile's additional-envs. */
export const envVarsPolicies = ['AppendIfNotExists', 'Replace', 'Ignore'] as const;
export type EnvVarsPolicy = (typeof envVarsPolicies)[number];

export interface EnvVar {
  readonly name: string;
  readonly value: string;
}

/** How a plugin is run: the `exec` stanza of a kubeconfig user. */
export interface ExecConfig {
  readonly apiVersion: ApiVersion;
  /** An absolute path, a path relative to the working directory, or a bare name looked up in `PATH`. */
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  /** Hand `spec.cluster` to the plugin. Default: false. */
  readonly provideClusterInfo?: boolean;
  /** Shown when the executable is missing. */
  readonly installHint?: string;
  /** Default: `Never`. */
  readonly interactiveMode?: InteractiveMode;
}

/** The profile has to match each list that is given. In these names a `*` stands for any characters. */
export interface AllowedProfiles {
  /** Of `metadata.namespace`, which RBAC decides. */
  readonly namespaces?: readonly string[];
  /** Of `spec.clusterManager.name`, which is what the profile says of itself. */
  readonly clusterManagers?: readonly string[];
}

/** What the operator configured for one access type. Exactly the shape of an entry of the provider file. */
export interface Provider {
  /** The access type, matched with the names in `status.accessProviders`. */
  readonly name: string;
  readonly execConfig: ExecConfig;
  /** Default: `Ignore`. */
  readonly profileSourcedCLIArgsPolicy?: CLIArgsPolicy;
  /** Default: `Ignore`. */
  readonly profileSourcedEnvVarsPolicy?: EnvVarsPolicy;
  /** Which profiles may use this provider. Default: any. */
  readonly allowedProfiles?: AllowedProfiles;
  /** Let profiles of this access type switch TLS verification off. Default: false. */
  readonly allowInsecureTLS?: boolean;
  /**
   * Servers that profiles of this access type may name: `https://*.example.com[:port][/prefix]`, a `*` standing for one whole
   * label of the host, or `https://10.0.0.0/8[:port][/prefix]`. Default: any. With it a profile may name a proxy only where
   * `allowedProxies` has it, a `tls-server-name` only as the next field says, and a prefix binds every request.
   */
  readonly allowedServers?: readonly string[];
  /** What a profile may set `tls-server-name` to beside the server's own host: `*.example.com`. Default, with `allowedServers`: nothing. */
  readonly allowedServerNames?: readonly string[];
  /** Proxies that profiles may name, in the same form with `http`, `https` or `socks5`. */
  readonly allowedProxies?: readonly string[];
  /** Variables that profiles may set: names, or beginnings with a final `*`. Default: any but the dangerous ones. */
  readonly allowedEnvVars?: readonly string[];
  /** Arguments that profiles may add: whole arguments, a `*` standing for any characters. Default: any. */
  readonly allowedArgs?: readonly string[];
}

/** What a provider lets profiles say; parsed. */
export interface ProviderRules {
  readonly allowedProfiles?: AllowedProfiles;
  readonly allowedServers?: readonly UrlPattern[];
  readonly allowedServerNames?: readonly UrlPattern[];
  readonly allowedProxies?: readonly UrlPattern[];
  readonly allowedEnvVars?: readonly string[];
  readonly allowedArgs?: readonly string[];
}

/** A provider that has been validated, with every default in place. */
export interface ConfiguredProvider extends ProviderRules {
  readonly name: string;
  readonly execConfig: Required<Omit<ExecConfig, 'installHint'>> & Pick<ExecConfig, 'installHint'>;
  readonly profileSourcedCLIArgsPolicy: CLIArgsPolicy;
  readonly profileSourcedEnvVarsPolicy: EnvVarsPolicy;
  readonly allowInsecureTLS: boolean;
  /** Versions that the plugin may answer in. */
  readonly acceptedVersions: readonly ApiVersion[];
}

/** The kernel takes no `=` or NUL in a name; the exec info is ours to set. */
export function envNameProblem(name: string): string | undefined {
  if (name === '') return 'is an empty name: give the variable a name';
  if (name.includes('=')) return 'has "=" in its name, which no environment variable can have';
  if (name.includes('\0')) return 'has a NUL character in its name, which no environment variable can have';
  if (name === 'KUBERNETES_EXEC_INFO') return 'is set by this library for every plugin: choose another name';
  return undefined;
}

/** As in a process's environment, a later value of the same name wins; it keeps the first one's place. */
export function lastOfEachName(env: readonly EnvVar[]): readonly EnvVar[] {
  const values = new Map(env.map(({ name, value }) => [name, value]));
  return [...values].map(([name, value]) => ({ name, value }));
}

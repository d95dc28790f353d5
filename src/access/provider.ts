/** The configuration of an access type. */

/** What the plugin may do with the terminal: `Never`, `IfAvailable` or `Always`, as in a kubeconfig. */
export const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const;
export type InteractiveMode = (typeof interactiveModes)[number];

/** KEP-4322: how the profile's additional-args are handled. */
export const cliArgsPolicies = ['Append', 'Ignore'] as const;
type CLIArgsPolicy = (typeof cliArgsPolicies)[number];

/** KEP-4322: how the profile's additional-envs are handled. */
export const envVarsPolicies = ['AppendIfNotExists', 'Replace', 'Ignore'] as const;
type EnvVarsPolicy = (typeof envVarsPolicies)[number];

/** An environment variable of a plugin. */
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
  /**
   * Pass `spec.cluster` to the plugin.
   * @default false
   */
  readonly provideClusterInfo?: boolean;
  /** Shown if the executable is missing. */
  readonly installHint?: string;
  /** @default Never */
  readonly interactiveMode?: InteractiveMode;
}

/** The profile has to match each given list. A `*` in a name stands for any characters. */
export interface AllowedProfiles {
  /** Values of `metadata.namespace`, which RBAC controls. */
  readonly namespaces?: readonly string[];
  /** Values of `spec.clusterManager.name`, which the profile itself claims. */
  readonly clusterManagers?: readonly string[];
}

/** The configuration of one access type, in the shape of an entry of the provider file. */
export interface Provider {
  /** The access type, matched with the names in `status.accessProviders`. */
  readonly name: string;
  readonly execConfig: ExecConfig;
  /** @default Ignore */
  readonly profileSourcedCLIArgsPolicy?: CLIArgsPolicy;
  /** @default Ignore */
  readonly profileSourcedEnvVarsPolicy?: EnvVarsPolicy;
  /**
   * The profiles that may use this provider.
   * @default any
   */
  readonly allowedProfiles?: AllowedProfiles;
  /**
   * Let profiles of this access type turn TLS verification off.
   * @default false
   */
  readonly allowInsecureTLS?: boolean;
  /**
   * Servers that profiles of this access type may name: `https://*.example.com[:port][/prefix]`, where `*` stands for one whole label
   * of the host, or `https://10.0.0.0/8[:port][/prefix]`. If set, a profile may name only a proxy of `allowedProxies` and a
   * `tls-server-name` of `allowedServerNames`, and a prefix restricts every request.
   * @default any
   */
  readonly allowedServers?: readonly string[];
  /**
   * Values of `tls-server-name` that a profile may set besides the server's own host: `*.example.com`.
   * @default none with `allowedServers`, else any
   */
  readonly allowedServerNames?: readonly string[];
  /** Proxies that profiles may name, in the same form with `http`, `https` or `socks5`. */
  readonly allowedProxies?: readonly string[];
  /**
   * Variables that profiles may set: names, or prefixes with a final `*`.
   * @default any but the dangerous ones
   */
  readonly allowedEnvVars?: readonly string[];
  /**
   * Arguments that profiles may add: whole arguments, where `*` stands for any characters.
   * @default any
   */
  readonly allowedArgs?: readonly string[];
}

/** Checks the name of a variable: the kernel refuses `=` and NUL, and this package sets the exec info. */
export function envNameProblem(name: string): string | undefined {
  if (name === '') return 'is an empty name: give the variable a name';
  if (name.includes('=')) return 'has "=" in its name, which no environment variable can have';
  if (name.includes('\0')) return 'has a NUL character in its name, which no environment variable can have';
  if (name === 'KUBERNETES_EXEC_INFO') return 'is set by this library for every plugin: choose another name';
  return undefined;
}

/** As in a process's environment, the last value of a name wins. It keeps the place of the first one. */
export function lastOfEachName(env: readonly EnvVar[]): readonly EnvVar[] {
  const values = new Map(env.map(({ name, value }) => [name, value]));
  return [...values].map(([name, value]) => ({ name, value }));
}

/** The versions of the exec credential protocol (KEP-541). */
export const apiVersions = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
  'client.authentication.k8s.io/v1alpha1',
] as const;
/** A version of the exec credential protocol. */
export type ApiVersion = (typeof apiVersions)[number];

/** What the program ends with. The table in docs/command-line.md says the same. */
export const exitCodes = {
  ok: 0,
  /** None of the others: a bug of ours, or a machine without memory or disk. */
  failed: 1,
  /** A verb, an option or an argument that is not one. */
  usage: 2,
  /** Flags, a provider file, a kubeconfig or a manifest that cannot be used. */
  configuration: 3,
  /** The hub cannot be reached, or refuses. */
  hub: 4,
  /** A name that is not there. */
  notFound: 5,
  /** From here on: a stage of a cluster, in the order in which they are passed. */
  profile: 10,
  provider: 11,
  plugin: 12,
  proxy: 13,
  connection: 14,
  authentication: 15,
  identity: 16,
  /** The API server answers, and not as one does. */
  server: 17,
  /** A command that was run for several clusters. */
  command: 20,
  /** Ctrl-C, by the shells' convention: 128 and the number of the signal. */
  interrupted: 130,
  /** What reads the output has gone: `| head`. */
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

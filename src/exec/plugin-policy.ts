/** Which plugins may be run at all, as kubectl has it (KEP-3104): checked before every run. */
import { basename, isAbsolute, normalize } from 'node:path';
import { findExecutable } from './executable.ts';

export type PluginPolicyType = 'AllowAll' | 'DenyAll' | 'Allowlist';

/** What the operator lets run, whatever a provider or a kubeconfig says. */
export interface PluginPolicy {
  readonly policyType: PluginPolicyType;
  /** For `Allowlist`: absolute paths, or bare names, which mean what is found in `PATH`. */
  readonly allowlist?: readonly { readonly command: string }[];
}

/** What is wrong with an entry of an allowlist, or `undefined`. */
export function allowlistEntryProblem(command: string): string | undefined {
  if (command === '') return 'is empty: name a plugin';
  if (command.includes('\0')) return 'holds a NUL character';
  if (command.includes(',')) return 'holds a comma: make each plugin an entry of its own';
  if (!command.includes('/')) return undefined;
  if (!isAbsolute(command)) return 'is a relative path: write an absolute one, or a bare name that is found in PATH';
  const clean = normalize(command).replace(/(.)\/+$/, '$1');
  return clean === command ? undefined : `is not written in its shortest form: write ${clean}`;
}

/** Why a command may not be run, or `undefined`. As in client-go the path that is found is what is compared. */
export async function policyRefusal(
  { policyType, allowlist = [] }: PluginPolicy,
  command: string,
  searchPath: string,
): Promise<string | undefined> {
  if (policyType === 'AllowAll') return undefined;
  if (policyType === 'DenyAll') return 'the plugin policy is DenyAll';
  const entries = allowlist.map((entry) => entry.command);
  const isPath = command.includes('/');
  const clean = isPath ? normalize(command) : command;
  const refusal = `it is not in the plugin allowlist (${entries.join(', ')})`;
  // A path that is relative to the working directory could be any file.
  if (isPath && !isAbsolute(clean)) return refusal;
  if (entries.includes(clean)) return undefined;
  const found = await findExecutable(clean, searchPath);
  if ('problem' in found) return `${refusal}, and ${found.path} is ${found.problem}`;
  if (entries.includes(found.path)) return undefined;
  for (const entry of entries.filter((name) => basename(name) === basename(clean))) {
    const meant = await findExecutable(entry, searchPath);
    if (!('problem' in meant) && meant.path === found.path) return undefined;
  }
  return refusal;
}

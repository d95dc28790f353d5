/** Which plugins may be run at all, as kubectl has it (KEP-3104): checked before every run. */
import { basename, isAbsolute, normalize } from 'node:path';
import type { PluginPolicy } from '../access/plugin-policy.ts';
import { findExecutable } from './executable.ts';

/** Whether a command may be run, and as which file: `digests` are the SHA-256 that it may have, `undefined` any. */
export type Permission = { readonly refusal: string } | { readonly digests: readonly string[] | undefined };

const anyFile: Permission = { digests: undefined };

/** What the policy says of a command. As in client-go the path that is found is what is compared. */
export async function permissionFor(
  { policyType, allowlist = [] }: PluginPolicy,
  command: string,
  searchPath: string,
): Promise<Permission> {
  if (policyType === 'AllowAll') return anyFile;
  if (policyType === 'DenyAll')
    return { refusal: 'the plugin policy is DenyAll: allow it with pluginPolicy (--clusterprofile-plugin-policy)' };
  const isPath = command.includes('/');
  const clean = isPath ? normalize(command) : command;
  const refusal = `it is not in the plugin allowlist (${allowlist.map((entry) => entry.command).join(', ')})`;
  // A path that is relative to the working directory could be any file.
  if (isPath && !isAbsolute(clean)) return { refusal };
  const named = allowlist.filter((entry) => entry.command === clean);
  if (named.length > 0) return permitted(named);
  const found = await findExecutable(clean, searchPath);
  if ('problem' in found) return { refusal: `${refusal}, and ${found.path} is ${found.problem}` };
  const located = allowlist.filter((entry) => entry.command === found.path);
  if (located.length > 0) return permitted(located);
  for (const { command: name } of allowlist.filter((entry) => basename(entry.command) === basename(clean))) {
    const meant = await findExecutable(name, searchPath);
    if ('problem' in meant || meant.path !== found.path) continue;
    return permitted(allowlist.filter((entry) => entry.command === name));
  }
  return { refusal };
}

function permitted(entries: NonNullable<PluginPolicy['allowlist']>): Permission {
  const digests = entries.flatMap(({ sha256 }) => (sha256 === undefined ? [] : [sha256.toLowerCase()]));
  return digests.length < entries.length ? anyFile : { digests };
}

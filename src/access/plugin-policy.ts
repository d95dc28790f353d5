/** Which plugins the operator lets run: the setting, from options or from flags, and what may be wrong with it. Pure. */
import { isAbsolute, normalize } from 'node:path';

export const policyTypes = ['AllowAll', 'DenyAll', 'Allowlist'] as const;

/** What the operator lets run, whatever a provider or a kubeconfig says. */
export interface PluginPolicy {
  readonly policyType: 'AllowAll' | 'DenyAll' | 'Allowlist';
  /** The plugins that may be run, with `policyType: 'Allowlist'` only. */
  readonly allowlist?: readonly {
    /** An absolute path, or a bare name, which means what is found in `PATH`. */
    readonly command: string;
    /** The SHA-256 that its file must have, in hexadecimal digits. Several entries for one command allow several files. */
    readonly sha256?: string;
  }[];
}

export interface PolicyProblem {
  /** Where it is in the allowlist; the list itself without an index. */
  readonly path: readonly [] | readonly [index: number] | readonly [index: number, field: 'command' | 'sha256'];
  readonly message: string;
}

export const digestRule = 'must be the SHA-256 of the file, 64 hexadecimal digits as sha256sum prints them';

/** Everything that is wrong with a policy's allowlist. */
export function allowlistProblems({ policyType, allowlist }: PluginPolicy): readonly PolicyProblem[] {
  if (policyType === 'Allowlist' && !allowlist?.length) {
    return [
      {
        path: [],
        message:
          'is missing or empty: name the plugins that may be run, or set policyType (--clusterprofile-plugin-policy) to DenyAll',
      },
    ];
  }
  if (!allowlist) return [];
  if (policyType !== 'Allowlist') {
    return [
      {
        path: [],
        message: `does nothing with ${policyType}: set policyType (--clusterprofile-plugin-policy) to Allowlist, or leave it out`,
      },
    ];
  }
  return allowlist.flatMap(({ command, sha256 }, index): readonly PolicyProblem[] => {
    const commandProblem = problemOfCommand(command);
    if (commandProblem !== undefined) return [{ path: [index, 'command'], message: commandProblem }];
    if (sha256 !== undefined) {
      if (/^[0-9a-f]{64}$/i.test(sha256)) return [];
      return [{ path: [index, 'sha256'], message: digestRule }];
    }
    const isPinned = allowlist.some((other) => other.command === command && other.sha256 !== undefined);
    const message = `lets any file be ${command}, which another entry pins: leave one of the two out`;
    return isPinned ? [{ path: [index], message }] : [];
  });
}

function problemOfCommand(command: string): string | undefined {
  if (command === '') return 'is empty: name a plugin';
  if (command.includes('\0')) return 'holds a NUL character';
  if (command.includes(',')) return 'holds a comma: make each plugin an entry of its own';
  if (!command.includes('/')) return undefined;
  if (!isAbsolute(command)) return 'is a relative path: write an absolute one, or a bare name that is found in PATH';
  const clean = normalize(command).replace(/(.)\/+$/, '$1');
  return clean === command ? undefined : `is not written in its shortest form: write ${clean}`;
}

/** Which plugins the operator lets run: the setting, from options or from flags. Pure. */
import { isAbsolute, normalize } from 'node:path';
import { z } from 'zod';

export const policyTypes = ['AllowAll', 'DenyAll', 'Allowlist'] as const;

/** What the operator lets run, whatever a provider or a kubeconfig says. */
export interface PluginPolicy {
  readonly policyType: 'AllowAll' | 'DenyAll' | 'Allowlist';
  /** The plugins that may be run, with `policyType: 'Allowlist'` only. */
  readonly allowlist?:
    | readonly {
        /** An absolute path, or a bare name, which is looked up in `PATH`. */
        readonly command: string;
        /** The SHA-256 that its file must have, in hexadecimal digits. Several entries for one command allow several files. */
        readonly sha256?: string | undefined;
      }[]
    | undefined;
}

const digestRule = { error: 'must be the SHA-256 of the file, 64 hexadecimal digits as sha256sum prints them' };

const entrySchema = z.strictObject(
  {
    command: z.string({ error: 'must be text' }).superRefine((command, context) => {
      const message = problemOfCommand(command);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    }),
    sha256: z
      .string(digestRule)
      .regex(/^[0-9a-f]{64}$/i, digestRule)
      .optional(),
  },
  { error: 'must be an object with command, and sha256 where it is pinned' },
);

/** @internal */
export const pluginPolicySchema = z
  .strictObject(
    {
      policyType: z.enum(policyTypes, { error: `must be one of ${policyTypes.join(', ')}` }),
      allowlist: z.array(entrySchema, { error: 'must be a list of objects with command' }).optional(),
    },
    { error: 'must be an object with policyType' },
  )
  .superRefine(({ policyType, allowlist }, context) => {
    const problem = (message: string, ...path: number[]) =>
      context.addIssue({ code: 'custom', path: ['allowlist', ...path], message });
    const setting = 'policyType (--clusterprofile-plugin-policy)';
    if (policyType !== 'Allowlist') {
      if (allowlist) problem(`does nothing with ${policyType}: set ${setting} to Allowlist, or leave it out`);
    } else if (!allowlist?.length) {
      problem(`is missing or empty: name the plugins that may be run, or set ${setting} to DenyAll`);
    } else {
      for (const [index, { command, sha256 }] of allowlist.entries()) {
        const isPinned = allowlist.some((other) => other.command === command && other.sha256 !== undefined);
        if (sha256 !== undefined || !isPinned) continue;
        problem(`lets any file be ${command}, which another entry pins: leave one of the two out`, index);
      }
    }
  });

function problemOfCommand(command: string): string | undefined {
  if (command === '') return 'is empty: name a plugin';
  if (command.includes('\0')) return 'holds a NUL character';
  if (command.includes(',')) return 'holds a comma: make each plugin an entry of its own';
  if (!command.includes('/')) return undefined;
  if (!isAbsolute(command)) return 'is a relative path: write an absolute one, or a bare name that is found in PATH';
  const clean = normalize(command).replace(/(.)\/+$/, '$1');
  return clean === command ? undefined : `is not written in its shortest form: write ${clean}`;
}

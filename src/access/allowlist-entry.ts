/** Which entries an allowlist of plugins may have. */
import { isAbsolute, normalize } from 'node:path';

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

/** What an allowlist's entry says is wrong with its digest, or `undefined`. */
export function digestProblem(sha256: string): string | undefined {
  if (/^[0-9a-f]{64}$/i.test(sha256)) return undefined;
  return 'must be the SHA-256 of the file, 64 hexadecimal digits as sha256sum prints them';
}

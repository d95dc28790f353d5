import { readFileSync } from 'node:fs';
import { errnoOf } from '../util/errno.ts';

/** Text of a file, without the line break at its end. */
export function readText(option: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = errnoOf(error);
    throw new Error(`${option} ${file} cannot be read (${code}): correct the path, or mount the file`);
  }
  if (text === '') throw new Error(`${option} ${file} is empty`);
  return text;
}

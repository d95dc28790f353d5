// One part of every comparison with Go: a program of theirs reads generated cases, a line each, and prints what it makes of them.
import assert from 'node:assert/strict';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import fc from 'fast-check';
import { goBuild } from './go-programs.ts';

/** One of the words that a text has with lines between them. */
export const words = (text: string): fc.Arbitrary<string> => fc.constantFrom(...text.split('|'));

/**
 * The lines that a Go program of ours prints, one for each case. `module` is a folder beside this file. `flags` gives flags of
 * `go build`, and may use a temporary folder.
 */
export async function askGo(
  module: string,
  program: string,
  cases: readonly unknown[],
  flags: (source: string, temporary: string) => Promise<readonly string[]> = async () => [],
): Promise<readonly string[]> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'differential-'));
  const folder = temporary.path;
  const path = join(folder, 'program');
  const source = fileURLToPath(new URL(`./${module}/`, import.meta.url));
  await goBuild(source, program, path, await flags(source, folder));
  const input = cases.map((one) => JSON.stringify(one)).join('\n');
  const { stdout } = await execa(path, { input, maxBuffer: 2 ** 30 });
  const lines = stdout.split('\n');
  assert.equal(lines.length, cases.length);
  return lines;
}

/**
 * How many cases came out how. `compare` says how ours differs from theirs, and throws where no rule explains it; the error then
 * shows the seed, the case and their answer.
 */
export async function tally<Case, Theirs>(
  seed: number,
  cases: readonly Case[],
  lines: readonly string[],
  compare: (given: Case, theirs: Theirs) => string | Promise<string>,
): Promise<ReadonlyMap<string, number>> {
  const outcomes = new Map<string, number>();
  for (const [index, given] of cases.entries()) {
    const line = lines[index] ?? '';
    try {
      const outcome = await compare(given, JSON.parse(line));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    } catch (cause) {
      throw new Error(`seed ${seed}, case ${index}: ${JSON.stringify(given)}\ntheirs: ${line}`, { cause });
    }
  }
  return outcomes;
}

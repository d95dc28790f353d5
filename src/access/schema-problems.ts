/** The problems that a schema has found, in words, with the name that was probably meant. */
import { closestMatch } from 'leven';
import type { z } from 'zod';
import type { Problem } from '../errors/index.ts';
import { tryParseJson } from '../util/guards.ts';

/** A problem with the parts of its path, so that the line in a file can be found. */
interface SchemaProblem extends Problem {
  readonly keys: readonly PropertyKey[];
}

/** The keys that the object at a path may have. */
export type KnownKeys = (path: readonly PropertyKey[]) => readonly string[];

/** The rule of a schema, for its message. */
export const mustBe = (what: string) => ({ error: `must be ${what}` });

/** Reports each unknown key separately, with the nearest known one. `what` is what a key should be. */
export function schemaProblems(
  error: z.ZodError | undefined,
  { what = 'a known field', known }: { readonly what?: string; readonly known?: KnownKeys | undefined } = {},
): readonly SchemaProblem[] {
  return (error?.issues ?? []).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys')
      return [{ path: fieldPath(issue.path), keys: issue.path, message: issue.message }];
    const others = known?.(issue.path) ?? [];
    return issue.keys.map((key) => {
      const keys = [...issue.path, key];
      const all = others.length > 0 ? `; known are ${others.join(', ')}` : '';
      return { path: fieldPath(keys), keys, message: `is not ${what}${suggestion(key, others, all)}` };
    });
  });
}

/** `['providers', 1, 'name']` as `providers[1].name`. */
export function fieldPath(keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    return path === '' ? String(key) : `${path}.${String(key)}`;
  }, '');
}

/** The parts of a path such as `a.b[0]["c.d"].e`. */
export function keysOf(path: string): readonly (string | number)[] {
  const parts = path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|[^.[\]]+/g);
  return [...parts].map(([name, index, quoted]) => {
    if (index !== undefined) return Number(index);
    // Messages escape what could write to a terminal, in a way that JSON does not always know.
    return quoted === undefined ? name : String(tryParseJson(quoted) ?? quoted);
  });
}

/** ` (did you mean google?)`; `otherwise` if it is near to none of the candidates. */
export function suggestion(word: string, candidates: readonly string[], otherwise = ''): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? otherwise : ` (did you mean ${meant}?)`;
}

/**
 * The candidate that `word` most likely means: at most a third of the letters differ, and half of each of its
 * parts between dashes, so that `builtin-aws` is not taken for a mistyped `builtin-gcp`.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const written = word.toLowerCase();
  const meant = candidates.filter((candidate) => hasNearParts(written, candidate.toLowerCase()));
  const lowered = meant.map((candidate) => candidate.toLowerCase());
  const match = closestMatch(written, lowered, { maxDistance: Math.max(1, Math.floor(written.length / 3)) });
  return match === undefined ? undefined : meant[lowered.indexOf(match)];
}

function hasNearParts(word: string, candidate: string): boolean {
  const [parts, others] = [word.split('-'), candidate.split('-')];
  if (parts.length !== others.length) return true;
  return parts.every((part, index) => {
    const maxDistance = Math.max(1, Math.floor(part.length / 2));
    return closestMatch(part, [others[index] ?? ''], { maxDistance }) !== undefined;
  });
}

/** Converts zod issues to the problems of a `ConfigurationError`. */
import type { z } from 'zod';
import type { Problem } from '../errors/index.ts';
import { nearest } from './nearest.ts';

/** A problem with the parts of its path, so that the line in a file can be found. */
export interface SchemaProblem extends Problem {
  readonly keys: readonly PropertyKey[];
}

interface UnknownKeys {
  /** What a key should be, for messages: `an option`. */
  readonly what?: string;
  /** The keys that the object at a path may have. */
  readonly known: (path: readonly PropertyKey[]) => readonly string[];
}

/** Reports each unknown key separately, with the nearest known one. */
export function schemaProblems(
  error: z.ZodError | undefined,
  { what = 'a known field', known }: UnknownKeys = { known: () => [] },
): readonly SchemaProblem[] {
  return (error?.issues ?? []).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys')
      return [{ path: fieldPath(issue.path), keys: issue.path, message: issue.message }];
    const others = known(issue.path);
    return issue.keys.map((key) => {
      const keys = [...issue.path, key];
      const meant = nearest(key, others);
      const hint = meant ? ` (did you mean ${meant}?)` : others.length > 0 ? `; known are ${others.join(', ')}` : '';
      return { path: fieldPath(keys), keys, message: `is not ${what}${hint}` };
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

/** The service account whose images are pulled (KEP-4412), and what a provider with `tokenAttributes` gets to know of it. Pure. */

import { z } from 'zod';
import { schemaProblems } from '../access/schema-problems.ts';
import { ConfigurationError } from '../errors/index.ts';
import type { TokenAttributes } from './config.ts';

/** The service account whose images are pulled, for providers with `tokenAttributes` (KEP-4412). */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

const text = z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' });
const schema = z.object(
  {
    namespace: text,
    name: text,
    uid: text,
    annotations: z.record(z.string(), z.string({ error: 'must be text' }), { error: 'must be an object' }).optional(),
  },
  { error: 'must be an object with namespace, name and uid' },
);

/** Checks a caller's argument, whatever its type says: with a field missing, accounts would share credentials. */
export function parseServiceAccount(value: unknown): ServiceAccount {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const hint =
    typeof value === 'object' && value !== null && 'metadata' in value
      ? ': of a V1ServiceAccount give { namespace, name, uid, annotations } of its metadata'
      : '';
  const problems = schemaProblems(parsed.error).map(({ path, message }) => ({
    path: path === '' ? 'serviceAccount' : `serviceAccount.${path}`,
    message: `${message}${hint}`,
  }));
  throw new ConfigurationError('OPTION_INVALID', 'options', problems);
}

/** The annotations that a provider asks for, sorted, or the required one that is missing. */
export function chosenAnnotations(
  { annotations = {} }: ServiceAccount,
  attributes: TokenAttributes,
): readonly (readonly [string, string])[] | { readonly missing: string } {
  const { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: others } = attributes;
  const missing = required.find((key) => !Object.hasOwn(annotations, key));
  if (missing !== undefined) return { missing };
  return [...required, ...others]
    .filter((key) => Object.hasOwn(annotations, key))
    .toSorted()
    .map((key) => [key, annotations[key] ?? '']);
}

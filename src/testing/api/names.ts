/** What names, labels and annotations may look like. Each check says what is wrong, or `undefined`. */

import type { NameRule } from './resource-type.ts';

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualified = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const tooLong = (most: number) => `must be no more than ${most} bytes`;

/** An object's name, by the rule of its kind. A prefix of a generated name may end in what a name may not end in. */
export function nameProblem(name: string, rule: NameRule, prefix = false): string | undefined {
  const text = prefix ? name.replace(/[-.]+$/, '') || name : name;
  switch (rule) {
    case 'path':
      return pathProblem(name);
    case 'subdomain':
      return pathProblem(name) ?? check(text, subdomain, 253, 'an RFC 1123 subdomain: a-z, 0-9, - and .');
    case 'label':
      return pathProblem(name) ?? check(text, label, 63, 'an RFC 1123 label: a-z, 0-9 and -');
  }
}

function pathProblem(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  if (/[/%]/.test(name)) return "may not contain '/' or '%'";
  return undefined;
}

function check(name: string, pattern: RegExp, most: number, what: string): string | undefined {
  if (!pattern.test(name)) return `must be ${what}, with a letter or digit at both ends`;
  return name.length > most ? tooLong(most) : undefined;
}

/** A label's key, a finalizer: `example.com/name`, or without a prefix. */
export function labelKeyProblem(key: string): string | undefined {
  const [name = '', prefix, ...more] = key.split('/').reverse();
  if (more.length > 0) return 'must be a name with at most one prefix and one /';
  if (prefix === '') return 'the prefix before / must not be empty';
  if (prefix !== undefined) {
    const problem = check(prefix, subdomain, 253, 'an RFC 1123 subdomain');
    if (problem !== undefined) return `the prefix ${problem}`;
  }
  if (name === '') return 'the name part must not be empty';
  if (!qualified.test(name)) return "must be of letters, digits, '-', '_' and '.', with a letter or digit at both ends";
  return name.length > 63 ? `the name part ${tooLong(63)}` : undefined;
}

export function labelValueProblem(value: string): string | undefined {
  if (value.length > 63) return tooLong(63);
  if (value === '' || qualified.test(value)) return undefined;
  return "must be empty, or of letters, digits, '-', '_' and '.', with a letter or digit at both ends";
}

/** Limits on what profiles may name, since a plugin has more rights than the authors of profiles. */
import { createGlob } from '../access/glob.ts';

export const pinOptions = {
  namespace: { type: 'string' },
  name: { type: 'string', multiple: true },
  label: { type: 'string', multiple: true },
} as const;

export const pinUsage = `  --namespace NAME    the only namespace that is read
  --name NAME         the only name that a profile may give; a * stands for anything. May be repeated
  --label KEY=VALUE   a label that the object must have. May be repeated: it must have all of them`;

export interface Pins {
  readonly namespace: string | undefined;
  readonly names: readonly string[];
  readonly labels: readonly (readonly [key: string, value: string])[];
}

/** Throws an error whose message says what to write instead. */
export function readPins(values: {
  readonly namespace?: string | undefined;
  readonly name?: string[] | undefined;
  readonly label?: string[] | undefined;
}): Pins {
  const { namespace, name: names = [], label = [] } = values;
  if (namespace === '') throw new Error('--namespace is empty: name one, or leave it out');
  if (names.includes('')) throw new Error('--name is empty: write a name, or * for any');
  const labels = label.map((text) => {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (key === undefined || value === undefined) throw new Error(`--label ${text} must be KEY=VALUE`);
    return [key, value] as const;
  });
  return { namespace, names, labels };
}

/** Whether a profile may name only what the operator has chosen. */
export function isPinned({ names, labels }: Pins): boolean {
  return names.length + labels.length > 0;
}

/** Throws if a profile names what it must not. It runs before anything is read. */
export function checkName({ names }: Pins, name: string): void {
  if (names.length === 0 || names.some((pattern) => createGlob(pattern)(name))) return;
  throw new Error(`the profile names ${name}, and this plugin may read ${names.join(', ')} (--name)`);
}

/** Throws if an object lacks a required label. */
export function checkLabels(
  pins: Pins,
  where: string,
  metadata: { readonly labels?: Readonly<Record<string, string>> | null | undefined } | null | undefined,
): void {
  for (const [key, value] of pins.labels) {
    if (metadata?.labels?.[key] === value) continue;
    throw new Error(`${where} does not have the label ${key}=${value}: this plugin may read no other (--label)`);
  }
}

/** What a profile gives a plugin in its exec extension, and the limits on it: a plugin has more rights than the authors of profiles. */
import type { parseArgs } from 'node:util';
import { createGlob } from '../access/url-pattern.ts';
import { isSubdomain } from '../util/hosts.ts';
import type { Secret } from './hub.ts';

/** The extension; without it there is nothing to read. */
export function clusterConfig(spec: { readonly cluster?: { readonly config?: unknown } | null | undefined }): unknown {
  const config = spec.cluster?.config;
  if (config !== undefined && config !== null) return config;
  const advice = 'set provideClusterInfo: true, and the extension client.authentication.k8s.io/exec in the profile';
  throw new Error(`missing ExecCredential.Spec.Cluster.Config: ${advice}`);
}

/** A field that is text; `undefined` if it is missing or empty. */
export function textField(config: unknown, field: string): string | undefined {
  const value: unknown = typeof config === 'object' && config !== null ? Reflect.get(config, field) : undefined;
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new Error(`invalid ExecCredential.Spec.Cluster.Config: ${field} must be text`);
}

/** The same for the name of an object or a namespace, which becomes a part of a path. */
export function nameField(config: unknown, field: string): string | undefined {
  const name = textField(config, field);
  if (name === undefined || isSubdomain(name)) return name;
  throw new Error(`invalid ExecCredential.Spec.Cluster.Config: ${field} must be a Kubernetes name`);
}

/** The same for a required field. */
export function requiredName(config: unknown, field: string): string {
  const name = nameField(config, field);
  if (name === undefined) throw new Error(`missing ${field} in ExecCredential.Spec.Cluster.Config`);
  return name;
}

export const pinOptions = {
  namespace: { type: 'string' },
  name: { type: 'string', multiple: true },
  label: { type: 'string', multiple: true },
} as const;

export const pinUsage = `  --namespace NAME    read only this namespace
  --name NAME         the only name that a profile may give; a * matches any text. May be repeated
  --label KEY=VALUE   a label that the object must have. May be repeated: it must have all of them`;

export type Pins = Readonly<ReturnType<typeof readPins>>;

export function readPins(values: ReturnType<typeof parseArgs<{ options: typeof pinOptions }>>['values']) {
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
  throw new Error(`the profile names ${name}, and this plugin may read only ${names.join(', ')} (--name)`);
}

/** Throws if an object lacks a required label. */
export function checkLabels(pins: Pins, where: string, metadata: Secret['metadata']): void {
  for (const [key, value] of pins.labels) {
    if (metadata?.labels?.[key] === value) continue;
    throw new Error(`${where} does not have the label ${key}=${value}: this plugin may read no other (--label)`);
  }
}

/** Names contexts by a template, such as `{namespace}-{name}`. */
import { exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { readName } from '../profiles.ts';
import type { KubeconfigEntry } from './entries.ts';

/**
 * Returns the name of the context for a profile's `namespace/name`. `hub` is the context of the hub, `undefined` where files are
 * read. Throws a `Failure` for a field that is not one.
 */
export function contextNamer(template: string | undefined, hub: string | undefined): (profile: string) => string {
  if (template === undefined) return (profile) => (hub === undefined ? profile : `${profile}@${hub}`);
  const known = ['namespace', 'name', ...(hub === undefined ? [] : ['hub'])];
  const unknown = [...template.matchAll(/\{([^}]*)\}/g)].find(([, field = '']) => !known.includes(field));
  if (unknown || template === '') {
    const why = unknown ? `${unknown[0]} is not a field` : 'is empty';
    const fields = known.map((field) => `{${field}}`).join(', ');
    throw new Failure(exitCodes.usage, `--context-name ${template}: ${why}`, `the fields are ${fields}`);
  }
  return (profile) => {
    const [name = '', namespace = ''] = profile.split('/').reverse();
    const values: Readonly<Record<string, string>> = { namespace, name, hub: hub ?? '' };
    return template.replaceAll(/\{([^}]*)\}/g, (_, field: string) => values[field] ?? '');
  };
}

/** Throws a `Failure` that names both profiles. */
export function refuseCollisions(entries: readonly KubeconfigEntry[]): void {
  const profiles = new Map<string, string>();
  for (const { name, profile } of entries) {
    const other = profiles.get(name);
    if (other !== undefined) {
      const message = `ClusterProfiles ${other} and ${profile} would both have the context ${name}`;
      throw new Failure(exitCodes.usage, message, 'tell them apart with --context-name, as {namespace}-{name} does');
    }
    profiles.set(name, profile);
  }
}

/** The name of the context that `--use` means. Throws a `Failure` where it is none, or several. */
export function contextToUse(
  use: string | undefined,
  entries: readonly Pick<KubeconfigEntry, 'name' | 'profile'>[],
): string | undefined {
  return use === undefined ? undefined : chooseContext(use, entries, `--use ${use}`);
}

/** The same for what the user calls `asked`. */
export function chooseContext(
  use: string,
  entries: readonly Pick<KubeconfigEntry, 'name' | 'profile'>[],
  asked: string,
): string {
  const { namespace, name } = readName(use);
  const isNamed = entries.find((entry) => entry.name === use);
  if (isNamed) return use;
  const isMeant = (profile: string) =>
    namespace === undefined ? profile.split('/').at(-1) === name : profile === `${namespace}/${name}`;
  const [first, second] = entries.filter(({ profile }) => isMeant(profile));
  if (first && !second) return first.name;
  if (first && second) {
    const message = `${asked} means more than one context: ${first.name} (${first.profile}), ${second.name} (${second.profile})`;
    throw new Failure(exitCodes.usage, message, 'write NAMESPACE/NAME, or the name of the context');
  }
  throw new Failure(exitCodes.notFound, `${asked}: no context is written for that ClusterProfile`);
}

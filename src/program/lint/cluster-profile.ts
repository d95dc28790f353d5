/**
 * Checks a ClusterProfile: every access provider is resolved as the library does it, with the known provider of that type, or
 * else with a typical new one. Pure.
 */
import type { ClusterProfile } from '../../access/cluster-profile.ts';
import type { ConfiguredProvider } from '../../access/provider.ts';
import type { Ignored } from '../../access/refusal.ts';
import { resolve } from '../../access/resolve.ts';
import type { Place } from '../../access/yaml-text.ts';
import { ProfileError } from '../../errors.ts';
import { at, keysOf, listAt, textAt } from '../fields.ts';
import type { Finding } from './finding.ts';

/** A ClusterProfile in a file. `placeOf` takes the keys of its fields. */
export interface GivenProfile {
  readonly content: unknown;
  readonly file: string;
  placeOf(keys: readonly PropertyKey[]): Place;
}

type Say = (severity: Finding['severity'], rule: Finding['rule'], path: string, message: string) => void;

export function lintClusterProfile(
  { content, file, placeOf }: GivenProfile,
  known: readonly ConfiguredProvider[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const say: Say = (severity, rule, path, message) => {
    findings.push({ file, ...placeOf(keysOf(path, content)), severity, rule, path, message });
  };
  const offered = new Set(
    lists.flatMap((list) => listAt(content, 'status', list).flatMap((entry) => textAt(entry, 'name') ?? [])),
  );
  for (const name of offered) {
    const configured = known.filter((provider) => provider.name === name);
    for (const provider of configured.length > 0 ? configured : [asNew(name)]) {
      const isKnown = configured.length > 0;
      lintEntry(content, provider, (severity, rule, path, message) => {
        // Report what a policy ignores only for a provider that exists, not for the assumed one.
        if (severity !== 'error' && !isKnown && message.includes(' of provider ')) return;
        say(severity, rule, path, message);
      });
    }
  }
  if (![...offered].some((name) => known.some((provider) => provider.name === name))) {
    const error = refusalOf(content, known);
    const isMissing = error?.code === 'NO_MATCHING_PROVIDER';
    if (error && !isMissing) say('error', error.code, error.path, messageOf(error));
    else if (error && (known.length > 0 || offered.size === 0))
      say('warning', 'NO_PROVIDER', error.path, messageOf(error));
  }
  if (listAt(content, 'status', 'credentialProviders').length > 0) {
    say('note', 'FIELD_DEPRECATED', 'status.credentialProviders', 'is the earlier name: write status.accessProviders');
  }
  return findings;
}

const lists = ['accessProviders', 'credentialProviders'] as const;

/** A provider as an operator may write it first: it allows profiles everything that is safe. */
function asNew(name: string): ConfiguredProvider {
  const apiVersion = 'client.authentication.k8s.io/v1';
  return {
    name,
    execConfig: {
      apiVersion,
      command: 'plugin',
      args: [],
      env: [],
      provideClusterInfo: true,
      interactiveMode: 'Never',
    },
    profileSourcedCLIArgsPolicy: 'Append',
    profileSourcedEnvVarsPolicy: 'AppendIfNotExists',
    allowInsecureTLS: false,
    acceptedVersions: [apiVersion],
  };
}

/** The most problems that are reported for one entry. */
const mostProblems = 100;

/** `resolve` stops at the first problem. So that is corrected in a copy, and the copy is resolved again. */
function lintEntry(content: unknown, provider: ConfiguredProvider, say: Say): void {
  const copy: unknown = structuredClone(content);
  const corrected: string[] = [];
  for (let count = 0; count < mostProblems; count++) {
    const result = tryToResolve(copy, provider);
    if (!(result instanceof ProfileError)) {
      for (const { path, reason } of result) {
        const isOurs = corrected.some((other) => path.startsWith(other) || other.startsWith(path));
        if (!isOurs) say('warning', 'NOTHING_APPLIES', path, `is not applied: ${reason}`);
      }
      return;
    }
    // It has been reported, and could not be corrected.
    if (corrected.includes(result.path)) return;
    say('error', result.code, result.path, messageOf(result));
    corrected.push(result.path);
    if (!correct(copy, keysOf(result.path, copy), count)) return;
  }
}

/** Everything that is not applied, or why the profile is refused. */
function tryToResolve(content: unknown, provider: ConfiguredProvider): readonly Ignored[] | ProfileError {
  return refusalOf(content, [provider]) ?? resolve(asProfile(content), [provider]).ignored;
}

function refusalOf(content: unknown, providers: readonly ConfiguredProvider[]): ProfileError | undefined {
  try {
    resolve(asProfile(content), providers);
    return undefined;
  } catch (error) {
    if (error instanceof ProfileError) return error;
    throw error;
  }
}

/** `resolve` checks what it reads. */
function asProfile(content: unknown): ClusterProfile {
  return content as ClusterProfile;
}

/** The message without the profile's name and the path, which have fields of their own. */
function messageOf({ message, profile, path }: ProfileError): string {
  const opening = `ClusterProfile ${profile}: ${path === '' ? '' : `${path}: `}`;
  return message.startsWith(opening) ? message.slice(opening.length) : message;
}

/** Replaces a wrong value by a valid one, or removes it. Returns whether the value was found. */
function correct(content: unknown, keys: readonly (string | number)[], count: number): boolean {
  const last = keys.at(-1);
  const parent = at(content, ...keys.slice(0, -1));
  if (last === undefined || typeof parent !== 'object' || parent === null) return false;
  if (last === 'server') Reflect.set(parent, last, 'https://placeholder.invalid');
  else if (last === 'cluster') Reflect.set(parent, last, { server: 'https://placeholder.invalid' });
  else if (last === 'name') Reflect.set(parent, last, `placeholder-${count}`);
  else if (Array.isArray(parent)) Reflect.set(parent, last, isNamedList(keys) ? { name: `placeholder-${count}` } : '');
  else Reflect.deleteProperty(parent, last);
  return true;
}

/** Whether the items of the list that the last key belongs to are objects with names. */
function isNamedList(keys: readonly (string | number)[]): boolean {
  return ['accessProviders', 'credentialProviders', 'extensions'].includes(String(keys.at(-2)));
}

/**
 * Checks a ClusterProfile: every access provider is resolved as the library does it, with the known provider of that type, or
 * else with a typical new one. Pure.
 */
import type { ConfiguredProvider } from '../../access/provider.ts';
import type { ResolvedAccess } from '../../access/resolve.ts';
import type { Place } from '../../access/yaml-text.ts';
import { ProfileError } from '../../errors/index.ts';
import { isLabel, isSubdomain } from '../../util/kubernetes-names.ts';
import { at, keysOf, listAt, textAt } from '../fields.ts';
import { type Profile, tryToResolve, withoutProfile } from '../profile.ts';
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
    findings.push({ file, ...placeOf(keysOf(path)), severity, rule, path, message });
  };
  for (const [field, isValid, rule] of names) {
    const name = textAt(content, 'metadata', field);
    if (name !== undefined && !isValid(name)) say('error', 'NAME_INVALID', `metadata.${field}`, rule);
  }
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
    const result = tryProvider(content, known);
    const error = result instanceof ProfileError ? result : undefined;
    const isMissing = error?.code === 'NO_MATCHING_PROVIDER';
    if (error && !isMissing) say('error', error.code, error.path, messageOf(error));
    else if (error && (known.length > 0 || offered.size === 0)) {
      // A profile that is applied has no status: the cluster manager writes it.
      const severity = at(content, 'status') === undefined ? 'note' : 'warning';
      say(severity, 'NO_PROVIDER', error.path, messageOf(error));
    }
  }
  if (listAt(content, 'status', 'credentialProviders').length > 0) {
    say('note', 'FIELD_DEPRECATED', 'status.credentialProviders', 'is the earlier name: write status.accessProviders');
  }
  return findings;
}

const names = [
  [
    'name',
    isSubdomain,
    'must be a DNS-1123 subdomain: a-z, 0-9, - and ., with a letter or digit at both ends of each part',
  ],
  [
    'namespace',
    isLabel,
    'must be a DNS-1123 label: a-z, 0-9 and -, with a letter or digit at both ends, 63 characters at most',
  ],
] as const;
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

/** Why the provider would not serve the profile, or what of the profile it would not apply. */
function lintEntry(content: unknown, provider: ConfiguredProvider, say: Say): void {
  const result = tryProvider(content, [provider]);
  if (result instanceof ProfileError) return say('error', result.code, result.path, messageOf(result));
  for (const { path, reason } of result.ignored) {
    say('warning', 'NOTHING_APPLIES', path, `is not applied: ${reason}`);
  }
}

/** `resolve` checks what it reads. */
function tryProvider(content: unknown, providers: readonly ConfiguredProvider[]): ResolvedAccess | ProfileError {
  return tryToResolve(content as Profile, providers);
}

/** The message without the profile's name and the path, which have fields of their own. */
function messageOf({ message, profile, path }: ProfileError): string {
  const text = withoutProfile(message, profile);
  return path !== '' && text.startsWith(`${path}: `) ? text.slice(path.length + 2) : text;
}

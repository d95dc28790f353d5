/** The ClusterProfiles of a call: from the hub, or from files. */
import { isObject, nearest, type Profile, profileName, readManifests } from '../diagnose/index.ts';
import { Failure } from './failure.ts';
import { type AskedName, readName, readSource } from './input.ts';
import { clusterProfiles } from './resources.ts';
import type { Call } from './verb.ts';

export type { Profile };

/** The message if there is no ClusterProfile, in kubectl's words. */
export async function noProfiles(call: Call): Promise<string> {
  const namespace = await homeOf(call);
  if (namespace === undefined) return 'No resources found.';
  return `No resources found in ${namespace} namespace. -A looks in all namespaces.`;
}

/** In the order of their names. Throws a `Failure` for a name that is not there. */
export async function profilesOf(call: Call): Promise<readonly Profile[]> {
  const { options, args } = call;
  const files = options.texts('filename');
  if (options.has('all-namespaces') && options.text('namespace') !== undefined) {
    throw Failure.usage('-A and -n contradict each other', 'give one of the two');
  }
  for (const [name, shown] of [
    ['selector', '-l'],
    ['field-selector', '--field-selector'],
  ] as const) {
    if (args.length === 0 || options.text(name) === undefined) continue;
    throw Failure.usage(`names and ${shown} contradict each other`, 'give one of the two');
  }
  return files.length > 0 ? profilesOfFiles(call, files) : profilesOfHub(call);
}

/** For verbs that take one name. */
export async function profileOf(call: Call): Promise<Profile> {
  const [profile, second] = await profilesOf(call);
  const [name = ''] = call.args;
  if (profile && !second) return profile;
  throw Failure.usage(
    `${name} is the name of more than one ClusterProfile: ${profileName(profile ?? {})}, ${profileName(second ?? {})}`,
    'write NAMESPACE/NAME',
  );
}

/** The namespace that names without one are in: `undefined` for all. */
export async function homeOf(call: Call): Promise<string | undefined> {
  const { options } = call;
  if (options.has('all-namespaces')) return undefined;
  const namespace = options.text('namespace');
  // Files need no hub.
  if (namespace !== undefined || options.texts('filename').length > 0) return namespace;
  const { openHub } = await import('./hub.ts');
  return (await openHub(call)).namespace;
}

export function selectorsOf({ options }: Call) {
  const [labelSelector, fieldSelector] = [options.text('selector'), options.text('field-selector')];
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

async function profilesOfHub(call: Call): Promise<readonly Profile[]> {
  // Files need none of it.
  const { openHub } = await import('./hub.ts');
  const hub = await openHub(call);
  const namespace = await homeOf(call);
  if (call.args.length === 0) {
    return (await hub.list(clusterProfiles, namespace, selectorsOf(call))).filter(isObject);
  }
  const found = await Promise.all(
    askedNames(call, namespace).map(async (asked) => {
      const { namespace: where, name } = asked;
      const profile = where === undefined ? undefined : await hub.find(clusterProfiles, where, name);
      if (isObject(profile)) return [profile];
      // The CRD or the namespace may be missing: the list shows it.
      return pick(asked, (await hub.list(clusterProfiles, where)).filter(isObject), call);
    }),
  );
  return unique(found.flat());
}

async function profilesOfFiles(call: Call, files: readonly string[]): Promise<readonly Profile[]> {
  const { options, args } = call;
  // Plugins may read the hub all the same.
  const ofHub = call.verb.runsPlugins ? [] : ['kubeconfig', 'context'];
  const selector = ['selector', 'field-selector', ...ofHub].find((name) => options.text(name) !== undefined);
  if (selector !== undefined && options.text('from-pod-args') === undefined) {
    const why = `--${selector} is for the hub, and -f reads files instead of it`;
    throw Failure.usage(why, 'give one of the two');
  }
  if (call.verb.runsPlugins) {
    const { hubOfPlugins } = await import('./hub.ts');
    await hubOfPlugins(call);
  }
  const texts = await Promise.all(files.map(async (file) => ({ file, text: await readSource(file, call.signal) })));
  const profiles = unique(texts.flatMap(({ file, text }) => parseProfiles(text, file)));
  const namespace = await homeOf(call);
  if (args.length === 0)
    return inNamespace(profiles, namespace).toSorted((a, b) => (profileName(a) < profileName(b) ? -1 : 1));
  return unique(askedNames(call, namespace).flatMap((one) => pick(one, profiles, call)));
}

/** The names that are asked for; those without a namespace are in `home`, or in any. */
export function askedNames({ args }: Call, home: string | undefined): readonly AskedName[] {
  return args.map(readName).map(({ namespace = home, name }) => ({ namespace, name }));
}

export function isMeant({ namespace, name }: AskedName, { metadata }: Profile): boolean {
  return metadata?.name === name && (namespace === undefined || metadata.namespace === namespace);
}

function inNamespace(profiles: readonly Profile[], namespace: string | undefined): readonly Profile[] {
  return profiles.filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace);
}

/** The profiles that a name means. Throws a `Failure` if there is none. */
function pick(asked: AskedName, profiles: readonly Profile[], call: Call): readonly Profile[] {
  const { name, namespace } = asked;
  const found = profiles.filter((profile) => isMeant(asked, profile));
  if (found.length > 0 || call.options.has('ignore-not-found')) return found;
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const meant = nearest(
    name,
    inNamespace(profiles, namespace).flatMap(({ metadata }) => metadata?.name ?? []),
  );
  const list = `${call.program} get ${namespace === undefined || call.options.texts('filename').length > 0 ? '' : `-n ${namespace}`}`;
  throw Failure.notFound(
    `there is no ClusterProfile ${name}${where}`,
    meant === undefined
      ? `${list.trim()} lists those that are there; -A looks in all namespaces`
      : `did you mean ${meant}?`,
  );
}

/** Each once: the last of those with the same name. */
const unique = (profiles: readonly Profile[]) => [...new Map(profiles.map((one) => [profileName(one), one])).values()];

/** The objects of a manifest: several documents, and lists of objects. Throws a `Failure` that names file and line. */
export function parseManifest(
  text: string,
  file: string,
  read: typeof readManifests = readManifests,
): readonly object[] {
  return read(text).flatMap((document) => {
    const [problem] = document.problems;
    const line = problem?.line === undefined ? '' : `line ${problem.line}: `;
    if (problem) throw Failure.configuration(`${file}: ${line}${problem.message}`);
    const content = 'content' in document ? document.content : undefined;
    if (!isObject(content)) return [];
    const items: unknown = Reflect.get(content, 'items');
    return Array.isArray(items) ? items.filter(isObject) : [content];
  });
}

function parseProfiles(text: string, file: string): readonly Profile[] {
  const profiles = parseManifest(text, file).filter((object) => Reflect.get(object, 'kind') === 'ClusterProfile');
  if (profiles.length > 0) return profiles;
  const where = file === '-' ? 'stdin' : file;
  throw Failure.configuration(`${where} has no ClusterProfile`, 'see its field kind');
}

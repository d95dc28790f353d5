/** Names that a shell completes: of ClusterProfiles and namespaces on the hub, or in files, and of a kubeconfig's contexts. */
import { readFileSync } from 'node:fs';
import { listAt, textAt } from '../fields.ts';
import { isReadOnce, kubeconfigPaths } from '../input.ts';
import { parseManifest, profilesOf } from '../profiles.ts';
import { namespaces } from '../resources.ts';
import { type Call, Options } from '../verb.ts';

/** Milliseconds until completion gives up. */
const patienceMs = 10_000;

/** Names that can be typed at a prompt without quotes, and that contain no control characters. */
const isPlain = (name: string) => /^[\w@:./-]+$/.test(name);

/** `start` is what has been typed of it. */
export async function readNames(
  what: 'profiles' | 'namespaces' | 'contexts',
  start: string,
  given: Call,
): Promise<readonly string[]> {
  const { options } = given;
  // Reading stdin or a pipe would block the prompt, and take the data from the command itself.
  if ([...options.texts('filename'), ...kubeconfigPaths(options.text('kubeconfig'))].some(isReadOnce)) return [];
  if (what === 'contexts') return readContexts(options.text('kubeconfig')).filter(isPlain);
  const call = { ...given, signal: AbortSignal.any([given.signal, AbortSignal.timeout(patienceMs)]) };
  const names = what === 'namespaces' ? await readNamespaces(call) : await readProfiles(call, start);
  return names.filter(isPlain).sort();
}

async function readProfiles(call: Call, start: string): Promise<readonly string[]> {
  const { options } = call;
  const [namespace] = start.split('/');
  // What stands before the slash says where to look.
  const inOne = start.includes('/') ? { namespace, 'all-namespaces': false } : {};
  const isQualified = start.includes('/') || options.has('all-namespaces');
  const values = {
    kubeconfig: options.text('kubeconfig'),
    context: options.text('context'),
    namespace: options.text('namespace'),
    'all-namespaces': options.has('all-namespaces'),
    filename: options.texts('filename'),
    ...inOne,
  };
  const profiles = await profilesOf({ ...call, options: new Options(values) });
  return profiles.flatMap(({ metadata }) => {
    const { namespace = '', name } = metadata ?? {};
    if (name === undefined) return [];
    return [isQualified && namespace !== '' ? `${namespace}/${name}` : name];
  });
}

async function readNamespaces(call: Call): Promise<readonly string[]> {
  const { openHub } = await import('../hub.ts');
  const hub = await openHub(call);
  const found = await hub.list(namespaces, undefined);
  return found.flatMap((one) => textAt(one, 'metadata', 'name') ?? []);
}

/** Of the files that kubectl would read; one that cannot be read has none. */
function readContexts(path: string | undefined): readonly string[] {
  const names = kubeconfigPaths(path).flatMap((file) => {
    try {
      return parseManifest(readFileSync(file, 'utf8'), file).flatMap((kubeconfig) =>
        listAt(kubeconfig, 'contexts').flatMap((context) => textAt(context, 'name') ?? []),
      );
    } catch {
      return [];
    }
  });
  return [...new Set(names)];
}

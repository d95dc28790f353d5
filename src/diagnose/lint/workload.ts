/** Controllers in manifests: our flags in the arguments of containers. Pure. */
import { parseFlags, pickFlags } from '../../access/flags.ts';
import { hardeningProblems } from '../../access/provider-schema.ts';
import type { Place } from '../../access/yaml-text.ts';
import { ConfigurationError } from '../../errors/index.ts';
import { parseOptions } from '../../options/options.ts';
import { type Container, podSpecs, readContainer, textsOf } from '../pod-args.ts';
import { listAt } from '../profile.ts';
import { adviseOn } from './cluster-profile.ts';
import { type Linted, type Manifest, type Say, sayTo } from './finding.ts';

/** Each container with a flag of ours. */
export function lintWorkload({ content, kind, file, placeOf }: Manifest, linted: Linted): void {
  const spec = podSpecs[kind] ?? [];
  for (const list of ['containers', 'initContainers']) {
    for (const [index, given] of listAt(content, ...spec, list).entries()) {
      const container = readContainer(given);
      const isOurs = textsOf(container).some((text) => /^--?clusterprofile[-_]/i.test(text));
      const placeOfFlag = (flag: string) => placeOf([...spec, list, index, ...keysOfFlag(flag, container)]);
      if (isOurs) lintContainer(container, file, placeOfFlag, linted);
    }
  }
}

function lintContainer(container: Container, file: string, placeOfFlag: (flag: string) => Place, linted: Linted): void {
  const name = `container ${container.name || '(without a name)'}`;
  const named = (owner: string, path: string) => (path === '' ? owner : `${owner}: ${path}`);
  const say = sayTo(linted, file, (flag) => ({ ...placeOfFlag(flag), path: named(name, flag) }));
  const { values, problems } = pickFlags(textsOf(container));
  const flags = orRefused(() => parseFlags(values, problems), say);
  if (!flags) return;
  const { providers, options } = flags;
  linted.providers.push(...providers);
  orRefused(() => parseOptions(options), say);
  if (!options.hardened) say('note', 'NOT_HARDENED', '', hardenedAdvice);
  for (const provider of providers) {
    const place = placeOfFlag(`--clusterprofile-access-provider "${provider.name}=..."`);
    const sayOf = sayTo(linted, file, (field) => ({ ...place, path: named(`provider ${provider.name}`, field) }));
    // What a hardened controller would refuse. The providers of a mounted file are not known here.
    const missing = options.hardened ? hardeningProblems([provider]) : [];
    for (const { message } of missing) sayOf('error', 'PROVIDER_INVALID', '', message);
    adviseOn(provider, sayOf);
  }
}

const hardenedAdvice =
  'the controller runs without --clusterprofile-hardened, which asks for an allowlist of plugins and for rules on each ' +
  'provider, and keeps its environment from plugins';

/** `undefined` if the library refuses the flags: then it is reported why. */
function orRefused<T>(parse: () => T, say: Say): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const { path, message } of error.problems) say('error', error.code, path, message);
    return undefined;
  }
}

/**
 * Where a flag stands in its container. `flag` is as the library's problems have it: `--name`, or `--name "type=..."`, or
 * `--name "value"`.
 */
function keysOfFlag(flag: string, { args }: Container): readonly (string | number)[] {
  const [, name, quoted] = /^--?([\w-]+)(?:[= ](.*))?$/s.exec(flag) ?? [];
  const start = (quoted ?? '').replace(/^"|"$/g, '').replace(/\.\.\.$/, '');
  const named = args.flatMap(({ text, keys }, index) => {
    const [, given, inline] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
    return name !== undefined && given === name ? [{ keys, value: inline ?? args[index + 1]?.text ?? '' }] : [];
  });
  const found = named.find(({ value }) => value.startsWith(start)) ?? named[0];
  return found?.keys ?? ['args'];
}

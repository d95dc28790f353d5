/** Controllers in manifests: our flags in the arguments of containers, and the provider files that are mounted. Pure. */
import { posix } from 'node:path';
import { type ParsedFlags, parseFlags, pickFlags } from '../../access/flags.ts';
import { hardeningProblems } from '../../access/provider-schema.ts';
import type { Place, YamlText } from '../../access/yaml-text.ts';
import { parseOptions } from '../../options/options.ts';
import { type Container, mountedAt, mountOf, podSpecs, readContainer, textsOf, volumesOf } from '../pod-args.ts';
import { at, listAt, textAt } from '../profile.ts';
import { adviceOf, type KnownProvider, type LintedProviders } from './cluster-profile.ts';
import { type Finding, findingsOf, toFindings } from './finding.ts';

/** A manifest of Kubernetes. `placeOf` takes the keys of its fields. */
export interface Manifest extends Pick<YamlText, 'content' | 'placeOf' | 'blockIndentOf'> {
  readonly kind: string;
  readonly file: string;
}

/** The providers in a key of a ConfigMap, or `undefined` if no file has that ConfigMap. */
export type FindProviders = (
  configMap: string,
  namespace: string,
  key: string,
) => readonly KnownProvider[] | 'no such key' | undefined;

type Keys = readonly (string | number)[];

/** Each container with a flag of ours. */
export function lintWorkload(manifest: Manifest, findProviders: FindProviders): LintedProviders {
  const spec = podSpecs[manifest.kind] ?? [];
  const results = ['containers', 'initContainers'].flatMap((list) =>
    listAt(manifest.content, ...spec, list).flatMap((_, index) => {
      const container = new LintedContainer(manifest, spec, [...spec, list, index]);
      return container.isOurs ? [lintContainer(container, findProviders)] : [];
    }),
  );
  return {
    findings: results.flatMap(({ findings }) => findings),
    providers: results.flatMap(({ providers }) => providers),
  };
}

function lintContainer(container: LintedContainer, findProviders: FindProviders): LintedProviders {
  const { values, problems: before } = pickFlags(container.texts);
  let flags: ParsedFlags;
  try {
    flags = parseFlags(values, before);
  } catch (error) {
    return { findings: container.problemsOf(error), providers: [] };
  }
  const findings: Finding[] = [];
  const fromFlags = flags.providers.map(
    (provider): KnownProvider => ({
      provider,
      file: container.file,
      pathOf: (field) => `provider ${provider.name}: ${field.join('.')}`,
      placeOf: () => container.placeOfFlag(`--clusterprofile-access-provider "${provider.name}=..."`),
    }),
  );
  const mounted = flags.providerFile === undefined ? [] : container.mounted(flags.providerFile, findProviders);
  if (mounted === 'no such key') {
    findings.push(
      container.finding(
        'error',
        'PROVIDER_FILE_KEY_MISSING',
        '--clusterprofile-provider-file',
        'the ConfigMap that is mounted there has no such key',
      ),
    );
  }
  const providers = [...fromFlags, ...(mounted === 'no such key' ? [] : mounted)];
  try {
    parseOptions(flags.options);
  } catch (error) {
    findings.push(...container.problemsOf(error));
  }
  if (flags.options.hardened) findings.push(...providers.flatMap(notHardened));
  else findings.push(container.finding('note', 'NOT_HARDENED', '', hardenedAdvice));
  return {
    findings: [
      ...findings,
      ...fromFlags.flatMap(adviceOf),
      ...providers.flatMap((known) => runAdvice(container, known, flags)),
    ],
    providers,
  };
}

const hardenedAdvice =
  'the controller runs without --clusterprofile-hardened, which asks for an allowlist of plugins and for rules on each ' +
  'provider, and keeps its environment from plugins';

/** What the library would refuse when the controller starts. */
function notHardened({ provider, file, placeOf }: KnownProvider): readonly Finding[] {
  return toFindings(hardeningProblems([provider]), 'PROVIDER_INVALID', file, () => placeOf([]));
}

/** Whether a plugin will run in this container. */
function runAdvice(container: LintedContainer, known: KnownProvider, { options }: ParsedFlags): readonly Finding[] {
  const { command } = known.provider.execConfig;
  if (!posix.isAbsolute(command)) return [];
  const path = known.pathOf(['execConfig', 'command']);
  const { policyType, allowlist = [] } = options.pluginPolicy ?? {};
  const isListed = allowlist.some(
    (entry) => !entry.command.includes('/') || entry.command === posix.normalize(command),
  );
  if (policyType !== 'Allowlist' || isListed) return [];
  const message = `${command} is not in --clusterprofile-plugin-allowlist of ${container.name}, so it is never run`;
  const place = known.placeOf(['execConfig', 'command']);
  return [{ file: known.file, ...place, severity: 'warning', rule: 'PLUGIN_NOT_IN_ALLOWLIST', path, message }];
}

/** One container of a pod, and its places in the file. */
class LintedContainer {
  readonly texts: readonly string[];
  readonly file: string;
  /** For messages. */
  readonly name: string;
  readonly isOurs: boolean;
  readonly #container: Container;
  readonly #manifest: Manifest;
  readonly #keys: Keys;

  constructor(manifest: Manifest, spec: Keys, keys: Keys) {
    this.#manifest = manifest;
    this.#keys = keys;
    this.#container = readContainer(at(manifest.content, ...keys), volumesOf(at(manifest.content, ...spec)));
    this.texts = textsOf(this.#container);
    this.file = manifest.file;
    this.name = `container ${this.#container.name || '(without a name)'}`;
    this.isOurs = this.texts.some((text) => /^--?clusterprofile[-_]/i.test(text));
  }

  finding(severity: Finding['severity'], rule: Finding['rule'], flag: string, message: string): Finding {
    return {
      file: this.file,
      ...this.placeOfFlag(flag),
      severity,
      rule,
      path: flag === '' ? this.name : `${this.name}: ${flag}`,
      message,
    };
  }

  /** Why the library refuses the flags. */
  problemsOf(error: unknown): readonly Finding[] {
    const found = findingsOf(error, this.file, ({ path }) => this.placeOfFlag(path));
    return found.map((finding) => ({ ...finding, path: `${this.name}: ${finding.path}` }));
  }

  /** `flag` is as the library's problems have it: `--name`, or `--name "type=..."`, or `--name "value"`. */
  placeOfFlag(flag: string): Place {
    const [, name, quoted] = /^--?([\w-]+)(?:[= ](.*))?$/s.exec(flag) ?? [];
    const start = (quoted ?? '').replace(/^"|"$/g, '').replace(/\.\.\.$/, '');
    const { args } = this.#container;
    const named = args.flatMap(({ text, keys }, index) => {
      const [, given, inline] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
      return name !== undefined && given === name ? [{ keys, value: inline ?? args[index + 1]?.text ?? '' }] : [];
    });
    const found = named.find(({ value }) => value.startsWith(start)) ?? named[0];
    return this.#manifest.placeOf([...this.#keys, ...(found?.keys ?? ['args'])]);
  }

  /** The providers of a file that is mounted into the container from a ConfigMap, as far as that is known. */
  mounted(path: string, findProviders: FindProviders): readonly KnownProvider[] | 'no such key' {
    if (textAt(mountOf(this.#container, path)?.volume, 'configMap', 'name') === undefined) return [];
    const [source] = mountedAt(this.#container, path);
    if (!source) return 'no such key';
    const namespace = textAt(this.#manifest.content, 'metadata', 'namespace') ?? '';
    return findProviders(source.name, namespace, source.key) ?? [];
  }
}

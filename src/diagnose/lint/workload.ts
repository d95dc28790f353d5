/** Controllers in manifests: our flags in the arguments of containers. Pure. */
import { type ParsedFlags, parseFlags, pickFlags } from '../../access/flags.ts';
import { hardeningProblems } from '../../access/provider-schema.ts';
import type { Place, YamlText } from '../../access/yaml-text.ts';
import { parseOptions } from '../../options/options.ts';
import { type Container, podSpecs, readContainer, textsOf } from '../pod-args.ts';
import { at, listAt } from '../profile.ts';
import { adviceOf, type KnownProvider, type LintedProviders } from './cluster-profile.ts';
import { type Finding, findingsOf, toFindings } from './finding.ts';

/** A manifest of Kubernetes. `placeOf` takes the keys of its fields. */
export interface Manifest extends Pick<YamlText, 'content' | 'placeOf'> {
  readonly kind: string;
  readonly file: string;
}

type Keys = readonly (string | number)[];

/** Each container with a flag of ours. */
export function lintWorkload(manifest: Manifest): LintedProviders {
  const spec = podSpecs[manifest.kind] ?? [];
  const results = ['containers', 'initContainers'].flatMap((list) =>
    listAt(manifest.content, ...spec, list).flatMap((_, index) => {
      const container = new LintedContainer(manifest, [...spec, list, index]);
      return container.isOurs ? [lintContainer(container)] : [];
    }),
  );
  return {
    findings: results.flatMap(({ findings }) => findings),
    providers: results.flatMap(({ providers }) => providers),
  };
}

function lintContainer(container: LintedContainer): LintedProviders {
  const { values, problems: before } = pickFlags(container.texts);
  let flags: ParsedFlags;
  try {
    flags = parseFlags(values, before);
  } catch (error) {
    return { findings: container.problemsOf(error), providers: [] };
  }
  const findings: Finding[] = [];
  const providers = flags.providers.map(
    (provider): KnownProvider => ({
      provider,
      file: container.file,
      pathOf: (field) => `provider ${provider.name}: ${field.join('.')}`,
      placeOf: () => container.placeOfFlag(`--clusterprofile-access-provider "${provider.name}=..."`),
    }),
  );
  try {
    parseOptions(flags.options);
  } catch (error) {
    findings.push(...container.problemsOf(error));
  }
  if (flags.options.hardened) findings.push(...providers.flatMap(notHardened));
  else findings.push(container.finding('note', 'NOT_HARDENED', '', hardenedAdvice));
  return { findings: [...findings, ...providers.flatMap(adviceOf)], providers };
}

const hardenedAdvice =
  'the controller runs without --clusterprofile-hardened, which asks for an allowlist of plugins and for rules on each ' +
  'provider, and keeps its environment from plugins';

/** What a hardened controller would refuse of the providers in its flags. Those of a mounted file are not known here. */
function notHardened({ provider, file, placeOf }: KnownProvider): readonly Finding[] {
  return toFindings(hardeningProblems([provider]), 'PROVIDER_INVALID', file, () => placeOf([]));
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

  constructor(manifest: Manifest, keys: Keys) {
    this.#manifest = manifest;
    this.#keys = keys;
    this.#container = readContainer(at(manifest.content, ...keys));
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
}

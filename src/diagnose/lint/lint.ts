/** Returns findings for the texts of files: what the library would refuse of each, and advice. Pure: it must not read files or run plugins. */
import type { ConfiguredProvider } from '../../access/provider-schema.ts';
import { nearest } from '../../access/schema-problems.ts';
import { type NoYaml, parseYaml, readManifests, type YamlText } from '../../access/yaml-text.ts';
import { isWorkload } from '../pod-args.ts';
import { at, listAt, textAt } from '../profile.ts';
import { type Finding, inOrder, type Linted, type Manifest, toFindings } from './finding.ts';
import { lintClusterProfile, lintProviders, lintWorkload } from './rules.ts';

interface GivenFile {
  /** As it is called in the findings. */
  readonly file: string;
  readonly text: string;
}

/** `configured` are providers that profiles are checked with beside those in the files. */
export function lint(files: readonly GivenFile[], configured: readonly ConfiguredProvider[] = []): readonly Finding[] {
  const linted: Linted = { findings: [], providers: [...configured] };
  const { findings } = linted;
  const read = files.map((file) => readFile(file, linted));
  const manifests = read.flatMap((file) => file.manifests);
  // Profiles come last: they are checked with all providers.
  for (const manifest of manifests) {
    if (manifest.kind === 'ConfigMap') lintConfigMap(manifest, linted);
    else if (isWorkload(manifest.kind)) lintWorkload(manifest, linted);
  }
  for (const manifest of manifests) if (manifest.kind === 'ClusterProfile') lintClusterProfile(manifest, linted);

  const names = files.map(({ file }) => file);
  const isKnown = ({ kind }: Manifest) => ['ClusterProfile', 'ConfigMap'].includes(kind) || isWorkload(kind);
  const isIdle = findings.length === 0 && !read.some((file) => file.isProviderFile) && !manifests.some(isKnown);
  return inOrder(isIdle ? names.map(nothingToLint) : findings, names);
}

/** Reported only if no file has anything to lint: a folder may have manifests of all kinds. */
function nothingToLint(file: string): Finding {
  const message = 'holds nothing to lint: no provider file, ClusterProfile or Deployment (or other workload)';
  return { file, line: 1, column: 1, severity: 'warning', rule: 'NOTHING_TO_LINT', path: '', message };
}

/** Lints it if it is a provider file: that has no kind, and is read by its own rules, also if it is broken. */
function readFile({ file, text }: GivenFile, linted: Linted) {
  const { findings } = linted;
  const documents = readManifests(text);
  const kinds = documents.map((one) => ('content' in one ? textAt(one.content, 'kind') : undefined));
  const mayBe = (document: YamlText | NoYaml) =>
    'content' in document ? mayBeProviderFile(document.content) : documents.length === 1;
  const isProviderFile =
    documents.length === 0 || documents.some((document, index) => kinds[index] === undefined && mayBe(document));
  const [, second] = documents;
  if (isProviderFile) lintProviders(text, file, linted);
  if (isProviderFile && second && 'content' in second) {
    const message =
      'begins a second document, and of a provider file only the first is read: put all providers into one';
    findings.push({ file, ...second.placeOf([]), severity: 'error', rule: 'DOCUMENT_NOT_READ', path: '', message });
  }
  const manifests = documents.flatMap((document, index) => {
    const kind = kinds[index];
    const isOther = 'content' in document && kind === undefined;
    if (!isProviderFile && !isOther) findings.push(...toFindings(document.problems, 'YAML_INVALID', file));
    return 'content' in document && kind !== undefined ? manifestsIn(document, kind, file) : [];
  });
  return { isProviderFile, manifests };
}

function manifestsIn({ content, placeOf }: YamlText, kind: string, file: string): readonly Manifest[] {
  if (kind !== 'List' && kind !== 'ClusterProfileList') return [{ content, kind, file, placeOf }];
  return listAt(content, 'items').map((item, index) => ({
    content: item,
    kind: textAt(item, 'kind') ?? (kind === 'List' ? '' : 'ClusterProfile'),
    file,
    placeOf: (keys) => placeOf(['items', index, ...keys]),
  }));
}

/** Not the values of a chart, a JSON patch, or whatever else has no kind. */
function mayBeProviderFile(content: unknown): boolean {
  if (Array.isArray(content)) return content.some((entry) => hasKeyLike(entry, 'execConfig'));
  return Object.keys(Object(content)).length === 0 || hasKeyLike(content, 'providers');
}

/** Also if it is mistyped. */
function hasKeyLike(content: unknown, name: string): boolean {
  return Object.keys(Object(content)).some((key) => nearest(key, [name]) !== undefined);
}

/** The provider files in a ConfigMap: every finding is where the text begins. Other programs have lists of providers too. */
function lintConfigMap({ content, file, placeOf }: Manifest, linted: Linted): void {
  for (const [key, text] of Object.entries(at(content, 'data') ?? {})) {
    if (typeof text !== 'string') continue;
    const read = parseYaml(text);
    const document = 'content' in read ? read.content : undefined;
    const isProviders =
      textAt(document, 'kind') === undefined &&
      listAt(document, 'providers').some((entry) => hasKeyLike(entry, 'execConfig'));
    if (isProviders) lintProviders(text, file, linted, placeOf(['data', key]));
  }
}

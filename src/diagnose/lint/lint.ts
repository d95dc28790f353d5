/**
 * Returns findings for the texts of files: what the library would refuse of each file by itself, and advice. The kind of a document is detected
 * from its content. Pure: it must not read files or run plugins.
 */
import type { ConfiguredProvider } from '../../access/provider.ts';
import { nearest } from '../../access/schema-problems.ts';
import { parseYaml, readManifests } from '../../access/yaml-text.ts';
import { isWorkload } from '../pod-args.ts';
import { at, listAt, textAt } from '../profile.ts';
import { type LintedProviders, lintClusterProfile, lintProviders } from './cluster-profile.ts';
import { type Finding, inOrder, toFindings } from './finding.ts';
import { lintWorkload, type Manifest } from './workload.ts';

interface GivenFile {
  /** As it is called in the findings. */
  readonly file: string;
  readonly text: string;
}

/** `configured` are providers that profiles are checked with beside those in the files. */
export function lint(files: readonly GivenFile[], configured: readonly ConfiguredProvider[] = []): readonly Finding[] {
  const read = files.map(readFile);
  const manifests = read.flatMap((file) => file.manifests);
  const findings = read.flatMap((file) => file.findings);
  const providers = read.flatMap((file) => file.providers);

  const inManifests = [
    ...manifests.filter(({ kind }) => kind === 'ConfigMap').flatMap(lintConfigMap),
    ...manifests.filter(({ kind }) => isWorkload(kind)).map(lintWorkload),
  ];
  findings.push(...inManifests.flatMap((linted) => linted.findings));
  const found = [...providers, ...inManifests.flatMap((linted) => linted.providers)];
  const known = [...configured, ...found.map(({ provider }) => provider)];
  const profiles = manifests.filter(({ kind }) => kind === 'ClusterProfile');
  findings.push(...profiles.flatMap((profile) => lintClusterProfile(profile, known)));

  const names = files.map(({ file }) => file);
  const isKnown = ({ kind }: Manifest) => knownKinds.includes(kind) || isWorkload(kind);
  const isIdle = read.every((file) => !file.isProviderFile && file.findings.length === 0) && !manifests.some(isKnown);
  if (isIdle) findings.push(...names.map(nothingToLint));
  return inOrder(findings, names);
}

const knownKinds = ['ClusterProfile', 'ConfigMap'];

/** Reported only if no file has anything to lint: a folder may have manifests of all kinds. */
function nothingToLint(file: string): Finding {
  const message = 'holds nothing to lint: no provider file, ClusterProfile or Deployment (or other workload)';
  return { file, line: 1, column: 1, severity: 'warning', rule: 'NOTHING_TO_LINT', path: '', message };
}

interface ReadFile extends LintedProviders {
  readonly file: string;
  readonly isProviderFile: boolean;
  readonly manifests: readonly Manifest[];
}

function readFile({ file, text }: GivenFile): ReadFile {
  const documents = readManifests(text);
  const manifests: Manifest[] = [];
  const findings: Finding[] = [];
  let isProviderFile = documents.length === 0;
  for (const document of documents) {
    const kind = 'content' in document ? textAt(document.content, 'kind') : undefined;
    // A provider file has no kind, and is read by its own rules, also if it is broken.
    if (kind === undefined) {
      isProviderFile ||= 'content' in document ? mayBeProviderFile(document.content) : documents.length === 1;
    }
    if (!('content' in document) || kind !== undefined)
      findings.push(...toFindings(document.problems, 'YAML_INVALID', file));
    if (!('content' in document) || kind === undefined) continue;
    const { content, placeOf } = document;
    const items = kind === 'List' || kind === 'ClusterProfileList' ? listAt(content, 'items') : undefined;
    if (!items) manifests.push({ content, kind, file, placeOf });
    for (const [index, item] of (items ?? []).entries()) {
      const inItem = (keys: readonly PropertyKey[]) => ['items', index, ...keys];
      const itemKind = textAt(item, 'kind') ?? (kind === 'List' ? '' : 'ClusterProfile');
      manifests.push({
        content: item,
        kind: itemKind,
        file,
        placeOf: (keys) => placeOf(inItem(keys)),
      });
    }
  }
  if (!isProviderFile) return { file, isProviderFile, manifests, findings, providers: [] };
  const linted = lintProviders(text, file);
  const [, second] = documents;
  if (second && 'content' in second) {
    const message =
      'begins a second document, and of a provider file only the first is read: put all providers into one';
    findings.push({ file, ...second.placeOf([]), severity: 'error', rule: 'DOCUMENT_NOT_READ', path: '', message });
  }
  const others = findings.filter(({ rule }) => rule !== 'YAML_INVALID');
  return { file, isProviderFile, manifests, findings: [...others, ...linted.findings], providers: linted.providers };
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
function lintConfigMap({ content, file, placeOf }: Manifest): readonly LintedProviders[] {
  return Object.entries(at(content, 'data') ?? {}).flatMap(([key, text]) => {
    if (typeof text !== 'string') return [];
    const read = parseYaml(text);
    const document = 'content' in read ? read.content : undefined;
    const isProviders =
      textAt(document, 'kind') === undefined &&
      listAt(document, 'providers').some((entry) => hasKeyLike(entry, 'execConfig'));
    return isProviders ? [lintProviders(text, file, placeOf(['data', key]))] : [];
  });
}

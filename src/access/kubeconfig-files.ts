/**
 * Texts of kubeconfigs come in, one set of entries goes out, merged as kubectl merges the files of KUBECONFIG: of entries
 * with one name the first one counts, as a whole. Pure.
 */
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors.ts';
import { fieldPath } from './field-path.ts';
import { mustBe, type Report, text } from './kubeconfig-user.ts';
import { kubernetesYaml, type Place, readYaml } from './yaml-text.ts';

/** One kubeconfig. */
export interface KubeconfigText {
  readonly text: string;
  /** Of its file, for errors. */
  readonly path: string | undefined;
  /** What relative paths in it are relative to; without it they stay as they are. */
  readonly directory: string | undefined;
}

const lists = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
export type ListName = keyof typeof lists;

/** An entry of `clusters`, `users` or `contexts`, with the file that it comes from. */
export interface KubeconfigEntry {
  readonly name: string;
  /** What stands under `cluster`, `user` or `context`: not checked yet. */
  readonly value: unknown;
  /** Its path: `clusters[0].cluster`. */
  readonly at: string;
  readonly file: KubeconfigFile;
}

/** A file whose entries are being read. */
export interface KubeconfigFile {
  /** `kubeconfig /home/me/.kube/config` */
  readonly where: string;
  readonly report: Report;
  /** A path of the file, made absolute. */
  readonly inFolder: (path: string) => string;
}

/** What the files say together. */
export interface MergedKubeconfig {
  readonly lists: { readonly [K in ListName]: ReadonlyMap<string, KubeconfigEntry> };
  readonly currentContext: string | undefined;
  /** For what belongs to no file. */
  readonly report: Report;
  /** Whether anything has been reported, for whichever file. */
  readonly hasProblems: () => boolean;
  /** Throws the one error for everything that has been reported. */
  readonly giveUp: () => never;
}

const entries = (field: string) =>
  z
    .array(
      z
        .looseObject({ name: z.string(mustBe('text')).nullish() }, mustBe('an object with a name'))
        // What has no name is never found.
        .transform((entry) => ({ name: entry.name ?? '', value: entry[field] })),
      mustBe('a list'),
    )
    .nullish()
    .transform((value) => value ?? []);

const kubeconfigSchema = z.object(
  {
    apiVersion: text().refine((version) => version === undefined || version === 'v1', mustBe('v1')),
    kind: text().refine((kind) => kind === undefined || kind === 'Config', mustBe('Config: this is no kubeconfig')),
    clusters: entries(lists.clusters),
    users: entries(lists.users),
    contexts: entries(lists.contexts),
    'current-context': text(),
  },
  mustBe('an object with clusters, users and contexts'),
);

/** Throws a `ConfigurationError` (`KUBECONFIG_INVALID`) with every file that cannot be read at all. */
export function mergeKubeconfigs(texts: readonly KubeconfigText[]): MergedKubeconfig {
  const problems: Problem[] = [];
  const merged: { readonly [K in ListName]: Map<string, KubeconfigEntry> } = {
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  let currentContext: string | undefined;
  const reports: Report[] = [];
  for (const { text, path, directory } of texts) {
    const file = texts.length > 1 && path !== undefined ? { file: path } : {};
    const parsed = readFile(text, (found) => problems.push(...found.map((problem) => ({ ...file, ...problem }))));
    if (!parsed) continue;
    const report: Report = (at, message) => {
      problems.push({ ...file, path: at, message, ...(at === '' ? {} : parsed.placeOf(keysOf(at))) });
    };
    reports.push(report);
    const whole: KubeconfigFile = {
      where: nameOf([path]),
      report,
      inFolder: (given) => (directory === undefined || isAbsolute(given) ? given : join(directory, given)),
    };
    for (const list of ['clusters', 'users', 'contexts'] as const) {
      const places = new Map<string, number>();
      for (const [index, { name, value }] of parsed.content[list].entries()) {
        const first = places.get(name);
        if (first !== undefined) report(`${list}[${index}].name`, `"${name}" already stands at ${list}[${first}]`);
        else places.set(name, index);
        if (name === '' || merged[list].has(name)) continue;
        merged[list].set(name, { name, value, at: `${list}[${index}].${lists[list]}`, file: whole });
      }
    }
    currentContext ??= parsed.content['current-context'];
  }
  const [onlyReport] = texts.length === 1 ? reports : [];
  const giveUp = () => {
    throw new ConfigurationError('KUBECONFIG_INVALID', nameOf(texts.map(({ path }) => path)), problems);
  };
  if (reports.length < texts.length) giveUp();
  const report: Report = onlyReport ?? ((path, message) => problems.push({ path, message }));
  return { lists: merged, currentContext, report, hasProblems: () => problems.length > 0, giveUp };
}

/** `kubeconfig /home/me/.kube/config`, for messages. */
export function nameOf(paths: readonly (string | undefined)[]): string {
  return ['kubeconfig', paths.filter((path) => path !== undefined).join(', ')].join(' ').trim();
}

interface ParsedFile {
  readonly content: z.output<typeof kubeconfigSchema>;
  placeOf(keys: readonly PropertyKey[]): Place;
}

/** `undefined` where there is something wrong with the file as a whole. */
function readFile(content: string, report: (problems: readonly Problem[]) => void): ParsedFile | undefined {
  const invalid = (problems: readonly Problem[]) =>
    new ConfigurationError('KUBECONFIG_INVALID', 'kubeconfig', problems);
  try {
    const { content: value, problems, placeOf } = readYaml(content, invalid, kubernetesYaml);
    report(problems);
    // As in client-go: an empty file is a kubeconfig in which nothing stands.
    const parsed = kubeconfigSchema.safeParse(value ?? {});
    if (parsed.success) return { content: parsed.data, placeOf };
    report(
      parsed.error.issues.map(({ path, message }) => ({
        path: fieldPath(path),
        message,
        ...(path.length === 0 ? {} : placeOf(path)),
      })),
    );
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    report(error.problems);
  }
  return undefined;
}

/** `users[0].user.exec` in its parts. */
function keysOf(path: string): readonly (string | number)[] {
  return (path.match(/[^.[\]]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

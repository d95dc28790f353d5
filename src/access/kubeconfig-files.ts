/**
 * Merges kubeconfigs as kubectl merges the files of KUBECONFIG: of several entries with one name the first counts, as a whole. Pure.
 */

import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { mustBe, type Report, text } from './kubeconfig-user.ts';
import { schemaProblems } from './schema-problems.ts';
import { kubernetesYaml, type Place, readYaml } from './yaml-text.ts';

/** One kubeconfig. */
export interface KubeconfigText {
  readonly text: string;
  /** The path of its file, for errors. */
  readonly path: string | undefined;
  /** The folder of relative paths in it; without one they stay as they are. */
  readonly directory: string | undefined;
}

const lists = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
export type ListName = keyof typeof lists;

/** An entry of `clusters`, `users` or `contexts`, with the file that it comes from. */
export interface KubeconfigEntry {
  readonly name: string;
  /** The value of `cluster`, `user` or `context`, not checked yet. */
  readonly value: unknown;
  /** Its path: `clusters[0].cluster`. */
  readonly at: string;
  readonly file: KubeconfigFile;
}

/** The file of an entry. */
export interface KubeconfigFile {
  /** `kubeconfig /home/me/.kube/config` */
  readonly where: string;
  readonly report: Report;
  /** Resolves a relative path in the file. */
  readonly inFolder: (path: string) => string;
}

/** The merged files. */
export interface MergedKubeconfig {
  readonly lists: { readonly [K in ListName]: ReadonlyMap<string, KubeconfigEntry> };
  readonly currentContext: string | undefined;
  /** Reports a problem that belongs to no file. */
  readonly report: Report;
  /** Whether a problem of any file has been reported. */
  readonly hasProblems: () => boolean;
  /** Throws one error with all reported problems. */
  readonly giveUp: () => never;
}

const entries = (field: string) =>
  z
    .array(
      z
        .looseObject({ name: z.string(mustBe('text')).nullish() }, mustBe('an object with a name'))
        // An entry without a name is never found.
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
    extensions: z.unknown().optional(),
  },
  mustBe('an object with clusters, users and contexts'),
);

/** @throws ConfigurationError (`KUBECONFIG_INVALID`) with every file that cannot be parsed at all */
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
    const parsed = readKubeconfigText(text, (found) =>
      problems.push(...found.map((problem) => ({ ...file, ...problem }))),
    );
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

/** Parses one kubeconfig; its entries are not checked yet. Returns `undefined` after reporting that it cannot be parsed at all. */
export function readKubeconfigText(
  content: string,
  report: (problems: readonly Problem[]) => void,
): ParsedFile | undefined {
  const invalid = (problems: readonly Problem[]) =>
    new ConfigurationError('KUBECONFIG_INVALID', 'kubeconfig', problems);
  try {
    const { content: value, problems, placeOf } = readYaml(content, invalid, kubernetesYaml);
    report(problems);
    // As in client-go: an empty file is an empty kubeconfig.
    const parsed = kubeconfigSchema.safeParse(value ?? {});
    if (parsed.success) return { content: parsed.data, placeOf };
    report(
      schemaProblems(parsed.error).map(({ path, keys, message }) => ({
        path,
        message,
        ...(keys.length === 0 ? {} : placeOf(keys)),
      })),
    );
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    report(error.problems);
  }
  return undefined;
}

/** The parts of a path such as `users[0].user.exec`. */
function keysOf(path: string): readonly (string | number)[] {
  return (path.match(/[^.[\]]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

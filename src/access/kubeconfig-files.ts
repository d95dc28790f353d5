/**
 * Merges kubeconfigs as kubectl merges the files of KUBECONFIG: of several entries with one name the first counts, as a whole. Pure.
 */

import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { optionalText } from './cluster-profile.ts';
import { keysOf, mustBe } from './schema-problems.ts';
import { checkYaml, kubernetesYaml } from './yaml-text.ts';

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

/** Reports a problem at a path of the kubeconfig. */
export type Report = (path: string, message: string) => void;

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
  /** Throws one error with all reported problems, and forgets them: another context may be read. */
  readonly giveUp: () => never;
}

/** Any text; absent if it is empty. */
export const anyText = optionalText('text (quote numbers and booleans)');

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

const kubeconfigFields = z.object(
  {
    apiVersion: anyText.refine((version) => version === undefined || version === 'v1', mustBe('v1')),
    kind: anyText.refine((kind) => kind === undefined || kind === 'Config', mustBe('Config: this is no kubeconfig')),
    clusters: entries(lists.clusters),
    users: entries(lists.users),
    contexts: entries(lists.contexts),
    'current-context': anyText,
    extensions: z.unknown().optional(),
  },
  mustBe('an object with clusters, users and contexts'),
);
// As in client-go: an empty file is an empty kubeconfig.
const kubeconfigSchema = z.preprocess((content) => content ?? {}, kubeconfigFields);

/** @throws ConfigurationError (`KUBECONFIG_INVALID`) with every file that cannot be parsed at all */
export function mergeKubeconfigs(texts: readonly KubeconfigText[]): MergedKubeconfig {
  const problems: Problem[] = [];
  const giveUp = () => {
    throw new ConfigurationError('KUBECONFIG_INVALID', nameOf(texts.map(({ path }) => path)), problems.splice(0));
  };
  const merged: { readonly [K in ListName]: Map<string, KubeconfigEntry> } = {
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  let currentContext: string | undefined;
  const reports: Report[] = [];
  for (const { text, path, directory } of texts) {
    const where = texts.length > 1 && path !== undefined ? { file: path } : {};
    const { data: content, problems: found, placeOf } = checkYaml(text, kubeconfigSchema, { dialect: kubernetesYaml });
    problems.push(...found.map((problem) => ({ ...where, ...problem })));
    if (!content) continue;
    const report: Report = (at, message) => {
      problems.push({ ...where, path: at, message, ...(at === '' ? {} : placeOf(keysOf(at))) });
    };
    reports.push(report);
    const file: KubeconfigFile = {
      where: nameOf([path]),
      report,
      inFolder: (given) => (directory === undefined || isAbsolute(given) ? given : join(directory, given)),
    };
    for (const list of ['clusters', 'users', 'contexts'] as const) {
      const places = new Map<string, string>();
      for (const [index, { name, value }] of content[list].entries()) {
        if (name === '') continue;
        const [at, earlier] = [`${list}[${index}].${lists[list]}`, places.get(name)];
        if (earlier === undefined) places.set(name, at);
        else report(`${list}[${index}].name`, `"${name}" duplicates ${earlier}`);
        if (!merged[list].has(name)) merged[list].set(name, { name, value, at, file });
      }
    }
    currentContext ??= content['current-context'];
  }
  if (reports.length < texts.length) giveUp();
  const [onlyReport] = texts.length === 1 ? reports : [];
  const report: Report = onlyReport ?? ((path, message) => problems.push({ path, message }));
  return { lists: merged, currentContext, report, hasProblems: () => problems.length > 0, giveUp };
}

/** `kubeconfig /home/me/.kube/config`, for messages. */
export function nameOf(paths: readonly (string | undefined)[]): string {
  return ['kubeconfig', paths.filter((path) => path !== undefined).join(', ')].join(' ').trim();
}

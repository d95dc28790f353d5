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

/** An entry of `clusters`, `users` or `contexts`. */
export interface KubeconfigEntry {
  readonly name: string;
  /** The value of `cluster`, `user` or `context`, not checked yet. */
  readonly value: unknown;
  /** Its path: `clusters[0].cluster`. */
  readonly at: string;
  readonly file: KubeconfigFile;
}

/** The file of an entry. */
interface KubeconfigFile {
  /** `kubeconfig /home/me/.kube/config` */
  readonly where: string;
  /** A problem at a path in the file, with its place. */
  readonly problemAt: (path: string, message: string) => Problem;
  /** Resolves a relative path in the file. */
  readonly inFolder: (path: string) => string;
}

/** The merged files. */
export interface MergedKubeconfig extends Pick<KubeconfigFile, 'where' | 'problemAt'> {
  readonly lists: { readonly [K in ListName]: ReadonlyMap<string, KubeconfigEntry> };
  readonly currentContext: string | undefined;
  /** Of the files as such, for example two entries of one name. */
  readonly problems: readonly Problem[];
}

/** @throws ConfigurationError (`KUBECONFIG_INVALID`) if there are problems */
export function refuseProblems({ where, problems }: Pick<MergedKubeconfig, 'where' | 'problems'>): void {
  if (problems.length > 0) throw new ConfigurationError('KUBECONFIG_INVALID', where, problems);
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
  const merged: { readonly [K in ListName]: Map<string, KubeconfigEntry> } = {
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  let currentContext: string | undefined;
  const files: KubeconfigFile[] = [];
  for (const { text, path, directory } of texts) {
    const where = texts.length > 1 && path !== undefined ? { file: path } : {};
    const { data: content, problems: found, placeOf } = checkYaml(text, kubeconfigSchema, { dialect: kubernetesYaml });
    problems.push(...found.map((problem) => ({ ...where, ...problem })));
    if (!content) continue;
    const file: KubeconfigFile = {
      where: nameOf([path]),
      problemAt: (at, message) => ({ ...where, path: at, message, ...(at === '' ? {} : placeOf(keysOf(at))) }),
      inFolder: (given) => (directory === undefined || isAbsolute(given) ? given : join(directory, given)),
    };
    files.push(file);
    for (const list of ['clusters', 'users', 'contexts'] as const) {
      const places = new Map<string, string>();
      for (const [index, { name, value }] of content[list].entries()) {
        if (name === '') continue;
        const [at, earlier] = [`${list}[${index}].${lists[list]}`, places.get(name)];
        if (earlier === undefined) places.set(name, at);
        else problems.push(file.problemAt(`${list}[${index}].name`, `"${name}" duplicates ${earlier}`));
        if (!merged[list].has(name)) merged[list].set(name, { name, value, at, file });
      }
    }
    currentContext ??= content['current-context'];
  }
  const where = nameOf(texts.map(({ path }) => path));
  if (files.length < texts.length) refuseProblems({ where, problems });
  const [only] = texts.length === 1 ? files : [];
  const problemAt = only?.problemAt ?? ((path, message) => ({ path, message }));
  return { lists: merged, currentContext, where, problems, problemAt };
}

/** `kubeconfig /home/me/.kube/config`, for messages. */
export function nameOf(paths: readonly (string | undefined)[]): string {
  return ['kubeconfig', paths.filter((path) => path !== undefined).join(', ')].join(' ').trim();
}

/**
 * The text of a kubeconfig comes in, the access of one context goes out, with what stands beside `exec`.
 * Pure but for `readFile`: it must not know of plugins that run or of the network.
 */
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors.ts';
import { checkCluster, hasLogin } from './cluster.ts';
import { clusterSchema } from './cluster-profile.ts';
import { extensionNames, type Ignored, type Refuse } from './extensions.ts';
import { copyJson, type Json } from './json.ts';
import {
  mustBe,
  type Report,
  readExec,
  readImpersonation,
  readStatic,
  type StaticUser,
  text,
  userSchema,
} from './kubeconfig-user.ts';
import { nearest } from './nearest.ts';
import { fieldPath } from './provider.ts';
import type { ResolvedAccess } from './resolve.ts';
import { kubernetesYaml, readYaml } from './yaml-text.ts';

/** Where a kubeconfig's text comes from. */
export interface KubeconfigText {
  readonly text: string;
  /** Names it in errors: `kubeconfig /home/me/.kube/config`. */
  readonly where: string;
  /** What relative paths in it are relative to; without it they stay as they are. */
  readonly directory: string | undefined;
  /** The context to use instead of `current-context`. */
  readonly context: string | undefined;
}

/** The access that one context of a kubeconfig describes. */
export interface KubeconfigAccess {
  readonly context: string;
  readonly user: string;
  readonly access: ResolvedAccess;
  /** As it was written: a login may stand in it. `access` has it without. */
  readonly proxyUrl: string | undefined;
  /** Where it is there, the plugin is not run. */
  readonly staticUser: StaticUser | undefined;
  /** Headers of every request, lower case; several values stay several. */
  readonly impersonation: Readonly<Record<string, readonly string[]>>;
}

const entries = z
  .array(z.looseObject({ name: z.string(mustBe('text')) }, mustBe('an object with a name')), mustBe('a list'))
  .nullish()
  .transform((value) => value ?? []);

const kubeconfigSchema = z.object(
  { clusters: entries, users: entries, contexts: entries, 'current-context': text() },
  mustBe('an object with clusters, users and contexts'),
);
const contextSchema = z.object({ cluster: text(), user: text() });
/**
 * Reads one context of a kubeconfig. `readFile` gives the content of the certificate authority's file.
 * Throws a `ConfigurationError` (`KUBECONFIG_INVALID`) with every problem of that context, its line and its path.
 */
export function parseKubeconfig(source: KubeconfigText, readFile: (path: string) => Buffer): KubeconfigAccess {
  const { where, directory } = source;
  const invalid = (problems: readonly Problem[]) => new ConfigurationError('KUBECONFIG_INVALID', where, problems);
  const { content, lineOf } = readYaml(source.text, invalid, kubernetesYaml);
  const problems: Problem[] = [];
  const report: Report = (path, message) => {
    problems.push({ path, message, ...(path === '' ? {} : { line: lineOf(keysOf(path)) }) });
  };
  /** Parses a part; its problems are collected, and `undefined` says that there are some. */
  const parse = <T extends z.ZodType>(schema: T, value: unknown, at: string): z.output<T> | undefined => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) {
      const field = fieldPath(issue.path);
      report(at === '' || field === '' ? `${at}${field}` : `${at}.${field}`, issue.message);
    }
    return undefined;
  };
  const giveUp = () => {
    throw invalid(problems);
  };

  if (content === null || content === undefined) throw invalid([{ path: '', message: 'is empty' }]);
  const config = parse(kubeconfigSchema, content, '') ?? giveUp();
  for (const list of ['clusters', 'users', 'contexts'] as const) {
    for (const [index, { name }] of config[list].entries()) {
      const first = config[list].findIndex((other) => other.name === name);
      if (first < index) report(`${list}[${index}].name`, `"${name}" already stands at ${list}[${first}]`);
    }
  }
  const find = (list: 'clusters' | 'users' | 'contexts', name: string | undefined, asked: string) => {
    const index = config[list].findIndex((entry) => entry.name === name);
    if (name !== undefined && index >= 0) return index;
    const known = config[list].map((entry) => entry.name);
    const meant = name === undefined ? undefined : nearest(name, known);
    const hint = meant
      ? ` (did you mean ${meant}?)`
      : `; there ${known.length === 0 ? 'are none' : `are ${known.join(', ')}`}`;
    report(asked, name === undefined ? `is missing${hint}` : `names "${name}", which is not in ${list}${hint}`);
    return giveUp();
  };

  const wanted = source.context ?? config['current-context'];
  const contextIndex = find('contexts', wanted, source.context === undefined ? 'current-context' : 'option context');
  const contextAt = `contexts[${contextIndex}].context`;
  const context = parse(contextSchema, config.contexts[contextIndex]?.context ?? {}, contextAt) ?? giveUp();
  const clusterIndex = find('clusters', context.cluster, `${contextAt}.cluster`);
  const userIndex = find('users', context.user, `${contextAt}.user`);
  const clusterAt = `clusters[${clusterIndex}].cluster`;
  const userAt = `users[${userIndex}].user`;
  const parsedCluster = parse(clusterSchema, config.clusters[clusterIndex]?.cluster ?? {}, clusterAt);
  const user = parse(userSchema, config.users[userIndex]?.user ?? {}, userAt);
  if (!parsedCluster || !user) return giveUp();

  const inFolder = (path: string) => (directory === undefined || isAbsolute(path) ? path : join(directory, path));
  const caFile = parsedCluster['certificate-authority'];
  if (caFile && !parsedCluster['certificate-authority-data']) {
    const path = inFolder(caFile);
    try {
      parsedCluster['certificate-authority-data'] = readFile(path).toString('base64');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      report(`${clusterAt}.certificate-authority`, `${path} cannot be read (${code})`);
    }
  }
  const refuse: Refuse = (_code, path, message) => {
    report(path, message);
    throw invalid(problems);
  };
  const server = parsedCluster.server?.toLowerCase() ?? 'https:';
  if (!server.startsWith('https:')) {
    report(`${clusterAt}.server`, 'is not an https:// URL: credentials are sent over https only');
  }
  const exec = readExec(user, userAt, inFolder, report);
  const staticUser = readStatic(user, userAt, inFolder, report);
  const impersonation = readImpersonation(user, userAt, report);
  const execExtension = readExtension(parsedCluster.extensions, `${clusterAt}.extensions`, refuse);
  const cluster = checkCluster(parsedCluster, clusterAt, refuse);
  if (problems.length > 0 || !exec) return giveUp();
  const ignored: Ignored[] = [];
  if (staticUser) {
    const what = Object.keys(staticUser).join(', ');
    ignored.push({ path: `${userAt}.exec`, reason: `the user has a credential of its own (${what}), which wins` });
  } else if (execExtension !== undefined && !exec.provideClusterInfo) {
    ignored.push({ path: `${clusterAt}.extensions`, reason: 'provideClusterInfo is false' });
  }
  const { proxyUrl } = cluster;
  return {
    context: wanted ?? '',
    user: context.user ?? '',
    access: {
      provider: 'kubeconfig',
      cluster: proxyUrl === undefined ? cluster : { ...cluster, proxyUrl: withoutLogin(proxyUrl) },
      exec: { ...exec, ...(execExtension === undefined ? {} : { config: execExtension }) },
      ignored,
    },
    proxyUrl,
    staticUser,
    impersonation,
  };
}

function readExtension(
  extensions: readonly { readonly name: string; readonly extension?: unknown }[],
  at: string,
  refuse: Refuse,
): Json | undefined {
  let config: Json | undefined;
  const seen = new Set<string>();
  for (const [index, { name, extension }] of extensions.entries()) {
    if (seen.has(name)) refuse('EXTENSION_INVALID', `${at}[${index}].name`, `"${name}" stands here a second time`);
    seen.add(name);
    if (name !== extensionNames.config || extension === null || extension === undefined) continue;
    config = copyJson(extension, `${at}[${index}].extension`, (path, reason) =>
      refuse('EXTENSION_INVALID', path, reason),
    );
  }
  return config;
}

function withoutLogin(proxyUrl: string): string {
  const url = new URL(proxyUrl);
  if (!hasLogin(url)) return proxyUrl;
  url.username = '';
  url.password = '';
  return url.href.replace(/\/$/, '');
}

/** `users[0].user.exec` in its parts. */
function keysOf(path: string): readonly (string | number)[] {
  return (path.match(/[^.[\]]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

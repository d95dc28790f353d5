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
import { nearest } from './nearest.ts';
import { execConfigSchema, fieldPath, lastOfEachName } from './provider.ts';
import type { ResolvedAccess, ResolvedExec } from './resolve.ts';
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

/** A certificate or key, as data or as the path of a file. */
export type PemSource = { readonly pem: string } | { readonly file: string };

/** What a user has beside `exec`, as far as it keeps the plugin from being run. */
export interface StaticUser {
  readonly token?: string;
  /** Read again from time to time; what was read last beats `token`. */
  readonly tokenFile?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly certificate?: PemSource;
  readonly key?: PemSource;
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

const mustBe = (what: string) => ({ error: `must be ${what}` });
/** Kubernetes' own reading: `null` and an empty string are as good as absent. */
const text = (what = 'text (quote numbers and booleans)') =>
  z
    .string(mustBe(what))
    .nullish()
    .transform((value) => value || undefined);
const texts = z
  .array(z.string(mustBe('text')), mustBe('a list of text'))
  .nullish()
  .transform((value) => value ?? []);
const anything = z.object({}).loose().nullish();
const entries = z
  .array(z.looseObject({ name: z.string(mustBe('text')) }, mustBe('an object with a name')), mustBe('a list'))
  .nullish()
  .transform((value) => value ?? []);

const kubeconfigSchema = z.object(
  { clusters: entries, users: entries, contexts: entries, 'current-context': text() },
  mustBe('an object with clusters, users and contexts'),
);
const contextSchema = z.object({ cluster: text(), user: text() });
const userSchema = z.object({
  exec: z
    // Lenient, as kubectl is: a file that works there works here.
    .object({
      ...execConfigSchema.shape,
      interactiveMode: z.preprocess((value) => value || undefined, execConfigSchema.shape.interactiveMode),
    })
    .nullish(),
  'auth-provider': anything,
  token: text(),
  tokenFile: text(),
  username: text(),
  password: text(),
  'client-certificate': text(),
  'client-certificate-data': text(),
  'client-key': text(),
  'client-key-data': text(),
  as: text(),
  'as-uid': text(),
  'as-groups': texts,
  'as-user-extra': z
    .record(z.string(), texts, mustBe('an object that maps names to lists of text'))
    .nullish()
    .transform((value) => value ?? {}),
});
type User = z.output<typeof userSchema>;

/**
 * Reads one context of a kubeconfig. `readFile` gives the content of the certificate authority's file.
 * Throws a `ConfigurationError` (`KUBECONFIG_INVALID`) with every problem of that context, its line and its path.
 */
export function parseKubeconfig(source: KubeconfigText, readFile: (path: string) => Buffer): KubeconfigAccess {
  const { where, directory } = source;
  const invalid = (problems: readonly Problem[]) => new ConfigurationError('KUBECONFIG_INVALID', where, problems);
  const { content, lineOf } = readYaml(source.text, invalid, kubernetesYaml);
  const problems: Problem[] = [];
  const report = (path: string, message: string) => {
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

type Report = (path: string, message: string) => void;

function readExec(
  { exec, 'auth-provider': authProvider }: User,
  at: string,
  inFolder: (path: string) => string,
  report: Report,
): Omit<ResolvedExec, 'config'> | undefined {
  if (!exec) {
    report(at, "has no exec: for users without a plugin client-node's own KubeConfig does");
    return undefined;
  }
  if (authProvider) report(`${at}.auth-provider`, 'cannot stand beside exec: remove it');
  const { apiVersion, command, args, env, provideClusterInfo, installHint } = exec;
  // KEP-541: the earlier versions had no such field, and were always given the terminal.
  const earlier = apiVersion === 'client.authentication.k8s.io/v1' ? undefined : 'IfAvailable';
  const interactiveMode = exec.interactiveMode ?? earlier;
  if (!interactiveMode) {
    report(`${at}.exec.interactiveMode`, 'is missing: set it to Never, IfAvailable or Always');
    return undefined;
  }
  return {
    apiVersion,
    command: command.includes('/') ? inFolder(command) : command,
    args: args ?? [],
    env: lastOfEachName(env ?? []),
    provideClusterInfo: provideClusterInfo ?? false,
    ...(installHint ? { installHint: printable(installHint) } : {}),
    interactiveMode,
  };
}

/** What does not belong in a terminal becomes `U+001B` and the like. */
function printable(hint: string): string {
  return hint.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\t-\r]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  });
}

/** client-go: a token, a user name, or a certificate with its key keep the plugin from being run. */
function readStatic(
  user: User,
  at: string,
  inFolder: (path: string) => string,
  report: Report,
): StaticUser | undefined {
  const { token, tokenFile, username, password } = user;
  if ((token || tokenFile) && (username || password)) {
    report(`${at}.${username ? 'username' : 'password'}`, 'cannot stand beside a token: keep one of the two');
  }
  const certificate = readPem(user['client-certificate-data'], user['client-certificate'], 'client-certificate');
  const key = readPem(user['client-key-data'], user['client-key'], 'client-key');
  if (certificate && !key) report(`${at}.client-certificate`, 'stands without client-key or client-key-data');
  const pair = certificate && key ? { certificate, key } : {};
  const result: StaticUser = {
    ...(token ? { token } : {}),
    ...(tokenFile ? { tokenFile: inFolder(tokenFile) } : {}),
    ...(username ? { basic: { username, password: password ?? '' } } : {}),
    ...pair,
  };
  return Object.keys(result).length > 0 ? result : undefined;

  function readPem(data: string | undefined, file: string | undefined, field: string): PemSource | undefined {
    if (data === undefined) return file === undefined ? undefined : { file: inFolder(file) };
    const base64 = data.replace(/[\r\n]/g, '');
    if (base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
      return { pem: Buffer.from(base64, 'base64').toString('utf8') };
    }
    report(`${at}.${field}-data`, 'is not base64');
    return undefined;
  }
}

function readImpersonation(user: User, at: string, report: Report): Readonly<Record<string, readonly string[]>> {
  const { as, 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra } = user;
  const headers: Record<string, readonly string[]> = {};
  const set = (name: string, field: string, values: readonly string[]) => {
    if (values.length === 0) return;
    if (values.some((value) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))) {
      report(`${at}.${field}`, 'holds a character that cannot stand in a header');
    }
    headers[name] = values;
  };
  if (!as && (uid || groups.length > 0 || Object.keys(extra).length > 0)) {
    report(`${at}.as`, 'is missing: as-uid, as-groups and as-user-extra need a user to impersonate');
  }
  set('impersonate-user', 'as', as ? [as] : []);
  set('impersonate-uid', 'as-uid', uid ? [uid] : []);
  set('impersonate-group', 'as-groups', groups);
  for (const [name, values] of Object.entries(extra)) {
    set(`impersonate-extra-${escapeHeaderKey(name.toLowerCase())}`, `as-user-extra.${name}`, values);
  }
  return headers;
}

/** Percent-encodes what cannot stand in a header's name, as the API server decodes it. */
function escapeHeaderKey(name: string): string {
  return [...Buffer.from(name)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[a-z0-9!#$&'*+.^_`|~-]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
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

/** Reads the user of a kubeconfig: its plugin, its static credentials, and the user that it impersonates. Pure. */
import { z } from 'zod';
import { optionalText } from './cluster-profile.ts';
import { type ImpersonationConfig, impersonationHeaders } from './impersonation.ts';
import { anyText, type KubeconfigEntry } from './kubeconfig-files.ts';
import { environmentSchema, envVarSchema, execConfigSchema, interactiveMode } from './provider-schema.ts';
import type { ResolvedExec } from './resolve.ts';
import { mustBe, schemaProblems } from './schema-problems.ts';

/** A certificate or key, as data or as the path of a file. */
export type PemSource = { readonly pem: string } | { readonly file: string };

/** The static credentials of a user; empty if there are none. */
export interface StaticUser {
  readonly token?: string;
  /** Read again every minute. Beats `token` as soon as it can be read. */
  readonly tokenFile?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly certificate?: PemSource;
  readonly key?: PemSource;
}

const texts = z
  .array(z.string(mustBe('text')), mustBe('a list of text'))
  .nullish()
  .transform((value) => value ?? []);
const anything = z.object({}).loose().nullish();

const lenientEnvVar = z.object(
  { ...envVarSchema.shape, value: envVarSchema.shape.value.nullish().transform((value) => value ?? '') },
  mustBe('an object with name and value'),
);

const userSchema = z.object({
  exec: z
    // Lenient, like kubectl: a file that works there works here.
    .object({
      ...execConfigSchema.shape,
      env: environmentSchema(lenientEnvVar),
      provideClusterInfo: execConfigSchema.shape.provideClusterInfo.nullish().transform((value) => value ?? false),
      installHint: optionalText('text'),
      interactiveMode: z.preprocess((value) => value || undefined, interactiveMode.optional()),
    })
    .nullish(),
  'auth-provider': anything,
  token: anyText,
  tokenFile: anyText,
  username: anyText,
  password: anyText,
  'client-certificate': anyText,
  'client-certificate-data': anyText,
  'client-key': anyText,
  'client-key-data': anyText,
  as: anyText,
  'as-uid': anyText,
  // Empty ones are as good as none.
  'as-groups': texts.transform((groups) => (groups.length > 0 ? groups : undefined)),
  'as-user-extra': z
    .record(z.string(), texts, mustBe('an object that maps names to lists of text'))
    .nullish()
    .transform((extra) => (extra && Object.keys(extra).length > 0 ? extra : undefined)),
});
type User = z.output<typeof userSchema>;

/** Reports the problems of one entry. */
export interface OpenEntry extends KubeconfigEntry {
  /** Of a path in its value. */
  readonly report: (path: string, message: string) => void;
}

/** Parses an entry. Returns `undefined` after reporting its problems. */
export function parseEntry<T extends z.ZodType>(schema: T, { value, report }: OpenEntry): z.output<T> | undefined {
  const parsed = schema.safeParse(value ?? {});
  for (const { path, message } of schemaProblems(parsed.error)) report(path, message);
  return parsed.data;
}

/** Reads a user. Returns `undefined` after reporting its problems. `secure`: whether its credential will be sent. */
export function readUser(entry: OpenEntry, secure: boolean) {
  const user = parseEntry(userSchema, entry);
  if (!user) return undefined;
  // client-go checks only a credential that it sends.
  if (secure && user['auth-provider'] && !user.exec) entry.report('auth-provider', 'is not supported: use exec');
  if (secure && !user.token && user.tokenFile && user.username) entry.report('username', besideToken);
  return {
    exec: readExec(user, entry),
    staticUser: readStatic(user, entry),
    impersonation: readImpersonation(user, entry),
  };
}

function readExec(
  { exec, 'auth-provider': authProvider }: User,
  { file: { inFolder }, report }: OpenEntry,
): Omit<ResolvedExec, 'config'> | undefined {
  if (!exec) return undefined;
  if (authProvider) report('auth-provider', 'cannot be combined with exec: remove it');
  const { command, installHint, ...others } = exec;
  // KEP-541: earlier versions have no such field, and always get the terminal.
  const earlier = exec.apiVersion === 'client.authentication.k8s.io/v1' ? undefined : 'IfAvailable';
  const mode = exec.interactiveMode ?? earlier;
  if (!mode) {
    report('exec.interactiveMode', 'is missing: set it to Never, IfAvailable or Always');
    return undefined;
  }
  return {
    ...others,
    command: command.includes('/') ? inFolder(command) : command,
    ...(installHint ? { installHint } : {}),
    interactiveMode: mode,
  };
}

/** Reads the static credentials. As in client-go, each of them keeps the plugin from being run. */
function readStatic(user: User, { file: { inFolder }, report }: OpenEntry): StaticUser {
  const { token, tokenFile, username, password } = user;
  if (token && (username || password)) report(username ? 'username' : 'password', besideToken);
  const certificate = readPem('client-certificate');
  const key = readPem('client-key');
  for (const field of certificate ? (['client-certificate', 'client-key'] as const) : []) {
    if (!user[field] || !user[`${field}-data`]) continue;
    report(field, `cannot be combined with ${field}-data: keep one of the two`);
  }
  if (certificate && !key) report('client-certificate', 'is set without client-key or client-key-data');
  return {
    ...(token ? { token } : {}),
    ...(tokenFile ? { tokenFile: inFolder(tokenFile) } : {}),
    ...(username ? { basic: { username, password: password ?? '' } } : {}),
    ...(certificate && key ? { certificate, key } : {}),
  };

  function readPem(field: 'client-certificate' | 'client-key'): PemSource | undefined {
    const { [field]: file, [`${field}-data` as const]: data } = user;
    if (data === undefined) return file === undefined ? undefined : { file: inFolder(file) };
    const base64 = data.replace(/[\r\n]/g, '');
    if (base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64)) {
      return { pem: Buffer.from(base64, 'base64').toString('utf8') };
    }
    report(`${field}-data`, 'is not base64');
    return undefined;
  }
}

const besideToken = 'cannot be combined with a token: keep one of the two';

function readImpersonation(user: User, { report }: OpenEntry): ImpersonationConfig | undefined {
  const { as, 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra } = user;
  if (!as) {
    if (uid || groups || extra)
      report('as', 'is missing: as-uid, as-groups and as-user-extra need a user to impersonate');
    return undefined;
  }
  const impersonation = { user: as, uid, groups, extra };
  const fields = { user: 'as', uid: 'as-uid', groups: 'as-groups', extra: 'as-user-extra' };
  impersonationHeaders(impersonation, (field, name, message) =>
    report(`${fields[field]}${name === undefined ? '' : `.${name}`}`, message),
  );
  return impersonation;
}

/**
 * Reads one context of some kubeconfigs: its cluster, its plugin, and the other credentials of its user. Pure but for `readFile`: knows
 * neither running plugins nor the network.
 */
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { errnoOf } from '../util/guards.ts';
import { checkCluster, hasLogin, type ResolvedCluster } from './cluster.ts';
import { clusterSchema, type Ignored, type ParsedCluster, type Refuse } from './cluster-profile.ts';
import { readConfigExtension } from './extensions.ts';
import type { ImpersonationConfig } from './impersonation.ts';
import type { Json } from './json.ts';
import { anyText, type KubeconfigEntry, type ListName, type MergedKubeconfig } from './kubeconfig-files.ts';
import { type OpenEntry, parseEntry, readUser, type StaticUser } from './kubeconfig-user.ts';
import type { ConfigAccess, ResolvedExec } from './resolve.ts';
import { mustBe, suggestion } from './schema-problems.ts';

const contextSchema = z.object({ cluster: anyText, user: anyText, namespace: anyText }, mustBe('an object'));

/** The access that one context of a kubeconfig describes. */
export interface KubeconfigAccess {
  readonly context: string;
  readonly user: string;
  /** Whose credential it is, for messages: `kubeconfig /home/me/.kube/config, user me`. */
  readonly origin: string;
  /** The namespace of objects that name none. */
  readonly namespace: string | undefined;
  readonly access: ConfigAccess;
  /** The file of the certificate authority, if it was read from one. */
  readonly authorityFile: string | undefined;
  /** As in the file: it may contain a login. `access` has it without one. */
  readonly proxyUrl: string | undefined;
  /** The plugin to run; absent if `staticUser` has the credential, or the user has no plugin. */
  readonly exec: ResolvedExec | undefined;
  readonly staticUser: StaticUser;
  readonly impersonation: ImpersonationConfig | undefined;
}

/**
 * @param contextName default: `current-context`
 * @param readFile reads the certificate authority's file
 * @throws ConfigurationError (`KUBECONFIG_INVALID`) with every problem of that context, each with its line and path
 */
export function readContext(
  kubeconfig: MergedKubeconfig,
  contextName: string | undefined,
  readFile: (path: string) => Buffer,
): KubeconfigAccess {
  const { lists, where } = kubeconfig;
  const problems: Problem[] = [...kubeconfig.problems];
  const giveUp = (): never => {
    throw new ConfigurationError('KUBECONFIG_INVALID', where, problems);
  };
  const open = (entry: KubeconfigEntry): OpenEntry => {
    const pathOf = (field: string) => (field === '' ? entry.at : `${entry.at}.${field}`);
    return {
      ...entry,
      report: (field, message) => void problems.push(entry.file.problemAt(pathOf(field), message)),
    };
  };
  const report: OpenEntry['report'] = (path, message) => void problems.push(kubeconfig.problemAt(path, message));
  if (lists.contexts.size + lists.clusters.size + lists.users.size === 0 && !kubeconfig.currentContext) {
    report('', 'is empty: it has no contexts');
    return giveUp();
  }
  const wanted = contextName ?? kubeconfig.currentContext;
  const asked = contextName === undefined ? 'current-context' : 'option context';
  const contextEntry = open(find(lists, 'contexts', wanted, asked, report) ?? giveUp());
  const context = parseEntry(contextSchema, contextEntry) ?? giveUp();
  const foundCluster = find(lists, 'clusters', context.cluster, 'cluster', contextEntry.report);
  // As in kubectl: without a user no credential is sent.
  const anonymous: KubeconfigEntry = { ...contextEntry, name: '', value: {} };
  const foundUser = context.user ? find(lists, 'users', context.user, 'user', contextEntry.report) : anonymous;
  if (!foundCluster || !foundUser) return giveUp();
  const [clusterEntry, userEntry] = [open(foundCluster), open(foundUser)];
  const parsedCluster = parseEntry(clusterSchema, clusterEntry);
  const secure = !/^http:/i.test(parsedCluster?.server ?? '');
  const user = readUser(userEntry, secure);
  if (!parsedCluster) return giveUp();
  const { cluster, config, authorityFile } = readCluster(parsedCluster, secure, clusterEntry, readFile, giveUp);
  if (!user || problems.length > 0) return giveUp();

  const { exec, staticUser, impersonation } = user;
  const own = Object.keys(staticUser);
  const ignored: Ignored[] = [];
  if (!secure && (exec || own.length > 0)) {
    const reason = 'is not used: a credential is sent over https:// only, and the server is http://';
    ignored.push({ path: userEntry.at, reason });
  } else if (exec && own.length > 0) {
    const reason = `the user has a credential of its own (${own.join(', ')}), which wins`;
    ignored.push({ path: `${userEntry.at}.exec`, reason });
  } else if (exec && config !== undefined && !exec.provideClusterInfo) {
    ignored.push({ path: `${clusterEntry.at}.extensions`, reason: 'provideClusterInfo is false' });
  }
  const { proxyUrl } = cluster;
  const resolvedExec = exec && { ...exec, ...(config === undefined ? {} : { config }) };
  return {
    context: contextEntry.name,
    user: userEntry.name,
    origin: `${userEntry.file.where}, ${context.user ? `user ${userEntry.name}` : `context ${contextEntry.name}`}`,
    namespace: context.namespace,
    access: {
      provider: 'kubeconfig',
      cluster: proxyUrl === undefined ? cluster : { ...cluster, proxyUrl: withoutLogin(proxyUrl) },
      ...(resolvedExec ? { exec: resolvedExec } : {}),
      ignored,
    },
    authorityFile,
    proxyUrl,
    exec: secure && own.length === 0 ? resolvedExec : undefined,
    staticUser: secure ? staticUser : {},
    impersonation,
  };
}

/** Finds an entry by the name that a context or the caller gives: `asked` says in which field. */
function find(
  lists: MergedKubeconfig['lists'],
  list: ListName,
  name: string | undefined,
  asked: string,
  report: OpenEntry['report'],
): KubeconfigEntry | undefined {
  const entry = name === undefined ? undefined : lists[list].get(name);
  if (entry) return entry;
  const known = [...lists[list].keys()];
  const found = ` (found: ${known.join(', ') || 'none'})`;
  if (name === undefined) report(asked, `is missing${found}`);
  else report(asked, `names "${name}", which is not in ${list}${suggestion(name, known, found)}`);
  return undefined;
}

function readCluster(
  parsed: ParsedCluster,
  secure: boolean,
  { at, report, file }: OpenEntry,
  readFile: (path: string) => Buffer,
  giveUp: () => never,
): Pick<KubeconfigAccess, 'authorityFile'> & { readonly cluster: ResolvedCluster; readonly config: Json | undefined } {
  const { 'certificate-authority': named, 'certificate-authority-data': data } = parsed;
  const authorityFile = named && file.inFolder(named);
  const authority = authorityFile ? readAuthority(authorityFile) : data;
  // As in client-go: these fields are ignored without TLS.
  const tls = secure ? {} : { 'insecure-skip-tls-verify': false, 'tls-server-name': undefined };
  const refuse: Refuse = (code, path, message) => {
    if (code === 'CA_INVALID' && authorityFile && !parsed['insecure-skip-tls-verify']) {
      report('certificate-authority', `${authorityFile} holds no certificate that can be read`);
    } else report(path.slice(`${at}.`.length), message);
    return giveUp();
  };
  const config = readConfigExtension(parsed.extensions, `${at}.extensions`, refuse);
  const ca = { 'certificate-authority-data': secure ? authority : undefined };
  const cluster = checkCluster({ ...parsed, ...tls, ...ca }, at, refuse);
  return { cluster, config, authorityFile: secure && authority !== undefined ? authorityFile : undefined };

  function readAuthority(path: string): string | undefined {
    const field = 'certificate-authority';
    if (data) report(field, 'cannot be combined with certificate-authority-data: keep one of the two');
    try {
      return readFile(path).toString('base64');
    } catch (error) {
      report(field, `${path} cannot be read (${errnoOf(error)})`);
      return undefined;
    }
  }
}

function withoutLogin(proxyUrl: string): string {
  const url = new URL(proxyUrl);
  if (!hasLogin(url)) return proxyUrl;
  url.username = '';
  url.password = '';
  return url.href.replace(/\/$/, '');
}

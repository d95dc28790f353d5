/** The token, or the client certificate and key, of a kubeconfig in a Secret, for the kubeconfig's own server. */
import { parseArgs } from 'node:util';
import * as z from 'zod/mini';
import { readCertificates } from '../access/certificates.ts';
import { withoutLastSlashes } from '../access/url-pattern.ts';
import { kubernetesYaml, parseYaml } from '../access/yaml-text.ts';
import type { CredentialStatus, ExecCredentialCluster } from '../plugin/credential-plugin.ts';
import { connectHub, getSecret } from './hub.ts';
import {
  checkLabels,
  checkName,
  clusterConfig,
  isPinned,
  nameField,
  pinOptions,
  pinUsage,
  readPins,
  requiredName,
  textField,
} from './profile-input.ts';
import type { GetStatus } from './program.ts';

export const usage = `Usage: kubeconfig-secretreader [--namespace NAME] [--name NAME] [--label KEY=VALUE] [--any-server]

A credential plugin (KEP-541), run by a Kubernetes client. Prints the token, the client certificate and key, or both, of a
kubeconfig in a Secret of the hub. The profile names it in its exec extension, { name, key, namespace, context }; namespace and
context are optional. The credential is for the kubeconfig's own server only: its URL, tls-server-name and
certificate-authority-data must match the profile's, and so must a proxy-url of the profile.
${pinUsage}
  --any-server        do not compare them. Needs --name or --label`;

// What is read of a kubeconfig here. The library's own schemas know all of it, and take longer to load than all of this plugin.
const text = z.pipe(
  z.nullish(z.string('must be text (quote numbers and booleans)')),
  z.transform((value) => value || undefined),
);
const entries = z.pipe(
  z.nullish(z.array(z.looseObject({ name: text }, 'must be an object with a name'), 'must be a list')),
  z.transform((list) => list ?? []),
);
const kubeconfigSchema = z.object(
  {
    apiVersion: z.nullish(z.enum(['v1', ''], 'must be v1')),
    kind: z.nullish(z.enum(['Config', ''], 'must be Config: this is no kubeconfig')),
    clusters: entries,
    users: entries,
    contexts: entries,
    'current-context': text,
    extensions: z.optional(z.unknown()),
  },
  'must be an object with clusters, users and contexts',
);
const contextSchema = z.object({ cluster: text, user: text }, 'must be an object');
/** Paths and plugins are refused: the files that they name are not in the Secret. */
const userSchema = z.object(
  {
    token: text,
    'client-certificate': text,
    'client-certificate-data': text,
    'client-key': text,
    'client-key-data': text,
  },
  'must be an object',
);
const clusterSchema = z.object(
  {
    server: text,
    'tls-server-name': text,
    'insecure-skip-tls-verify': z.nullish(z.boolean('must be true or false')),
    'certificate-authority-data': text,
    'proxy-url': text,
  },
  'must be an object',
);

/** The credential of one of the kubeconfig's contexts, and the cluster that it is for. */
function readContext(content: string, where: string, asked: string | undefined) {
  const refuse = (at: string, message: string): never => {
    throw new Error(`failed to parse kubeconfig from ${where}: ${at}: ${message}`);
  };
  const yaml = parseYaml(content, kubernetesYaml);
  const [problem] = yaml.problems;
  if (problem || !('content' in yaml)) return refuse(`line ${problem?.line ?? 1}`, problem?.message ?? '');
  const read = <T extends z.ZodMiniType>(schema: T, value: unknown, at: readonly string[]): z.output<T> => {
    const parsed = schema.safeParse(value ?? {});
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    return refuse([...at, ...(issue?.path ?? [])].join('.') || 'line 1', issue?.message ?? '');
  };
  const kubeconfig = read(kubeconfigSchema, yaml.content, []);
  const entryNamed = <T extends z.ZodMiniType>(
    list: 'contexts' | 'clusters' | 'users',
    name: string,
    schema: T,
  ): z.output<T> | undefined => {
    const entry = kubeconfig[list].find((candidate) => candidate.name === name);
    return entry && read(schema, entry[list.slice(0, -1)], [list, name]);
  };

  const { extensions } = kubeconfig;
  if (Array.isArray(extensions) && extensions.length > 0) throw new Error('kubeconfig extensions are not supported');
  const contextName = asked ?? kubeconfig['current-context'];
  if (!contextName) throw new Error('no context specified and no current-context in kubeconfig');
  const context = entryNamed('contexts', contextName, contextSchema);
  const known = kubeconfig.contexts.map(({ name }) => name).join(', ') || 'none';
  if (!context) throw new Error(`context "${contextName}" not found in kubeconfig: it has ${known}`);
  const userName = context.user ?? '';
  const user = entryNamed('users', userName, userSchema);
  if (!user) throw new Error(`user "${userName}" not found in kubeconfig`);
  for (const field of ['client-certificate', 'client-key'] as const) {
    if (user[field] && !user[`${field}-data`])
      throw new Error(`${field} file path is not supported; use ${field}-data`);
  }
  const { token, 'client-certificate-data': certificate, 'client-key-data': key } = user;
  if (key && !certificate)
    throw new Error(`client-key-data found but no client-certificate-data in user "${userName}"`);
  if (certificate && !key)
    throw new Error(`client-certificate-data found but no client-key-data in user "${userName}"`);
  if (!token && !certificate) {
    const what = 'neither token nor client-certificate-data/client-key-data';
    throw new Error(`no authentication method found in user "${userName}" (${what})`);
  }
  const decode = (data: string) => Buffer.from(data, 'base64').toString('utf8');
  const status: CredentialStatus = {
    ...(token ? { token } : {}),
    ...(certificate && key ? { clientCertificateData: decode(certificate), clientKeyData: decode(key) } : {}),
    // Its expiry is not known.
    expirationTimestamp: null,
  };
  return { status, cluster: entryNamed('clusters', context.cluster ?? '', clusterSchema) ?? {} };
}

export function kubeconfigSecretreader(args: readonly string[]): GetStatus {
  const { values } = parseArgs({
    args: [...args],
    options: { ...pinOptions, 'any-server': { type: 'boolean', default: false } },
  });
  const pins = readPins(values);
  const anyServer = values['any-server'];
  if (anyServer && !isPinned(pins)) {
    const why = 'a profile could name any Secret, and be sent its credential';
    throw new Error(`--any-server needs --name or --label, which limit what a profile may name: ${why}`);
  }
  return async ({ spec }) => {
    const config = clusterConfig(spec);
    const name = requiredName(config, 'name');
    const key = textField(config, 'key');
    if (!key) throw new Error('missing key in ExecCredential.Spec.Cluster.Config');
    checkName(pins, name);
    const asked = nameField(config, 'namespace');
    if (pins.namespace !== undefined && asked !== undefined && asked !== pins.namespace) {
      throw new Error(
        `the profile names the namespace ${asked}, and this plugin may read only ${pins.namespace} (--namespace)`,
      );
    }
    const hub = await connectHub();
    const secret = await getSecret(hub, pins.namespace ?? asked ?? hub.namespace, name);
    checkLabels(pins, secret.where, secret.metadata);
    const { status, cluster } = readContext(secret.read(key), secret.where, textField(config, 'context'));
    const problem = anyServer ? undefined : mismatch(spec.cluster ?? {}, cluster);
    if (problem) throw new Error(`the kubeconfig of ${secret.where} ${problem}: its credential is not sent there`);
    return status;
  };
}

// The author of a profile chooses its server, and could name another person's Secret. So a credential goes only to the server of its
// kubeconfig.

/** A cluster, as kubeconfigs and `spec.cluster` have it. */
export type Cluster = { readonly [K in keyof ExecCredentialCluster]?: ExecCredentialCluster[K] | undefined };

/** Why it may not, as the rest of a sentence about the kubeconfig, or `undefined`. */
export function mismatch(profile: Cluster, kubeconfig: Cluster): string | undefined {
  const [theirs, ours] = [addressOf(kubeconfig.server), addressOf(profile.server)];
  if (theirs === undefined) return 'names no server';
  if (theirs.text !== ours?.text) return `is for ${theirs.text}, and the profile's server is ${ours?.text ?? 'no URL'}`;
  const name = (cluster: Cluster) => (cluster['tls-server-name'] || theirs.host).toLowerCase();
  if (name(profile) !== name(kubeconfig)) {
    return `is for a server named ${name(kubeconfig)}, and the profile's tls-server-name is ${name(profile)}`;
  }
  // A text that is not a URL here may be one for a client that is written in Go.
  const proxy = ({ 'proxy-url': url }: Cluster) => addressOf(url)?.text ?? url;
  // A proxy sees which server is called, and can imitate it if the client does not verify certificates.
  if (profile['proxy-url'] && proxy(profile) !== proxy(kubeconfig)) {
    return `names ${kubeconfig['proxy-url'] ? 'another' : 'no'} proxy, and the profile has a proxy-url`;
  }
  if (kubeconfig['insecure-skip-tls-verify']) return undefined;
  if (profile['insecure-skip-tls-verify']) return 'verifies its server, and the profile has insecure-skip-tls-verify';
  const [known, trusted] = [authoritiesOf(kubeconfig), authoritiesOf(profile)];
  if (trusted === 'unreadable') return "cannot be compared with the profile's certificate-authority-data";
  // No authority means those of the system, on both sides.
  if (known === undefined && trusted === undefined) return undefined;
  if (known === undefined) return 'names no authority, and the profile has certificate-authority-data';
  if (known !== 'unreadable' && trusted && [...trusted].every((certificate) => known.has(certificate)))
    return undefined;
  return "trusts another authority than the profile's certificate-authority-data";
}

/** A URL in a form that can be compared, with only the parts that say where it leads. */
function addressOf(server: string | null | undefined): { readonly text: string; readonly host: string } | undefined {
  const url = URL.parse(server ?? '');
  if (!url?.host) return undefined;
  // `URL` has no origin for some schemes of proxies.
  return { text: `${url.protocol}//${url.host}${withoutLastSlashes(url.pathname)}`, host: url.hostname };
}

/** The digest of each certificate; `undefined` if there is none. */
function authoritiesOf(cluster: Cluster): ReadonlySet<string> | 'unreadable' | undefined {
  const data = cluster['certificate-authority-data'];
  if (!data) return undefined;
  const reading = readCertificates(Buffer.from(data, 'base64').toString('latin1'));
  if ('problem' in reading) return 'unreadable';
  return new Set(reading.certificates.map(({ fingerprint256 }) => fingerprint256));
}

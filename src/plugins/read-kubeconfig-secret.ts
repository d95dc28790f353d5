/** The token, or the client certificate and key, of a kubeconfig in a Secret, for the kubeconfig's own server. */
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ExecCredential } from '../plugin/exec-info.ts';
import type { CredentialStatus } from '../plugin/run-credential-plugin.ts';
import { clusterConfig, nameField, requiredName, textField } from './exec-config.ts';
import { getSecret, openHub } from './hub.ts';
import { checkLabels, checkName, isPinned, pinOptions, pinUsage, readPins } from './pins.ts';
import { type Cluster, mismatch } from './same-cluster.ts';

export const usage = `Usage: kubeconfig-secretreader [--namespace NAME] [--name NAME] [--label KEY=VALUE] [--any-server]

A credential plugin (KEP-541), run by a Kubernetes client. Reads a kubeconfig from data[key] of Secret namespace/name, as the
profile's extension client.authentication.k8s.io/exec says: { name, key, namespace, context }; the last two may be left out.
Takes a token, client-certificate-data with client-key-data, or both. They are given for the kubeconfig's own server only: its
URL, tls-server-name and certificate-authority-data have to be the profile's, and a proxy-url of the profile has to be its own.
${pinUsage}
  --any-server        do not compare them; needs --name or --label`;

const text = z.string().nullish();
const kubeconfigSchema = z.object({
  'current-context': text,
  extensions: z.array(z.unknown()).nullish(),
  contexts: z
    .array(z.object({ name: z.string(), context: z.object({ cluster: text, user: text }).nullish() }))
    .nullish(),
  clusters: z
    .array(
      z.object({
        name: z.string(),
        cluster: z
          .object({
            server: text,
            'tls-server-name': text,
            'insecure-skip-tls-verify': z.boolean().nullish(),
            'certificate-authority-data': text,
            'proxy-url': text,
          })
          .nullish(),
      }),
    )
    .nullish(),
  users: z
    .array(
      z.object({
        name: z.string(),
        user: z
          .object({
            token: text,
            'client-certificate': text,
            'client-certificate-data': text,
            'client-key': text,
            'client-key-data': text,
          })
          .nullish(),
      }),
    )
    .nullish(),
});

function readKubeconfig(content: string, where: string): z.output<typeof kubeconfigSchema> {
  let value: unknown;
  try {
    value = parse(content, { logLevel: 'error' });
  } catch {
    throw new Error(`failed to parse kubeconfig from ${where}: it is neither JSON nor YAML`);
  }
  const parsed = kubeconfigSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(
    `failed to parse kubeconfig from ${where}: ${parsed.error.issues[0]?.path.join('.')} is of the wrong type`,
  );
}

interface Kubeconfig {
  readonly status: CredentialStatus;
  readonly cluster: Cluster;
}

/** The entries of one of the kubeconfig's contexts. */
function readContext(kubeconfig: z.output<typeof kubeconfigSchema>, asked: string | undefined): Kubeconfig {
  if (kubeconfig.extensions?.length) throw new Error('kubeconfig extensions are not supported');
  const contextName = asked ?? kubeconfig['current-context'];
  if (!contextName) throw new Error('no context specified and no current-context in kubeconfig');
  const entry = kubeconfig.contexts?.find(({ name }) => name === contextName);
  const known = (kubeconfig.contexts ?? []).map(({ name }) => name).join(', ') || 'none';
  if (!entry) throw new Error(`context "${contextName}" not found in kubeconfig: it has ${known}`);
  const userName = entry.context?.user ?? '';
  const user = kubeconfig.users?.find(({ name }) => name === userName)?.user;
  if (!user) throw new Error(`user "${userName}" not found in kubeconfig`);
  for (const field of ['client-certificate', 'client-key'] as const) {
    if (user[field] && !user[`${field}-data`])
      throw new Error(`${field} file path is not supported; use ${field}-data`);
  }
  const certificate = user['client-certificate-data'];
  const key = user['client-key-data'];
  if (key && !certificate)
    throw new Error(`client-key-data found but no client-certificate-data in user "${userName}"`);
  if (certificate && !key)
    throw new Error(`client-certificate-data found but no client-key-data in user "${userName}"`);
  if (!user.token && !certificate) {
    const what = 'neither token nor client-certificate-data/client-key-data';
    throw new Error(`no authentication method found in user "${userName}" (${what})`);
  }
  const decode = (data: string) => Buffer.from(data, 'base64').toString('utf8');
  const status = {
    ...(user.token ? { token: user.token } : {}),
    ...(certificate && key ? { clientCertificateData: decode(certificate), clientKeyData: decode(key) } : {}),
    // Its expiry is not known.
    expirationTimestamp: null,
  };
  const cluster = kubeconfig.clusters?.find(({ name }) => name === entry.context?.cluster)?.cluster;
  return { status, cluster: cluster ?? {} };
}

/** The function that answers with these arguments. Throws if they are wrong. */
export function kubeconfigSecretreader(
  args: readonly string[],
): (credential: ExecCredential) => Promise<CredentialStatus> {
  const { values } = parseArgs({
    args: [...args],
    options: { ...pinOptions, 'any-server': { type: 'boolean', default: false } },
  });
  const pins = readPins(values);
  const anyServer = values['any-server'];
  if (anyServer && !isPinned(pins)) {
    const why = 'a profile could name any Secret, and be sent its credential';
    throw new Error(`--any-server needs --name or --label, what a profile may name: ${why}`);
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
        `the profile names the namespace ${asked}, and this plugin may read ${pins.namespace} (--namespace)`,
      );
    }
    const hub = openHub();
    const secret = await getSecret(hub, pins.namespace ?? asked ?? hub.namespace, name);
    checkLabels(pins, secret.where, secret.metadata);
    const { status, cluster } = readContext(
      readKubeconfig(secret.read(key), secret.where),
      textField(config, 'context'),
    );
    const problem = anyServer ? undefined : mismatch(spec.cluster ?? {}, cluster);
    if (problem) throw new Error(`the kubeconfig of ${secret.where} ${problem}: its credential is not sent there`);
    return status;
  };
}

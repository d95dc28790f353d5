#!/usr/bin/env node
// A credential plugin: the token, or the client certificate and key, of a kubeconfig that lies in a Secret. The profile's exec
// extension says which: { name, key, namespace?, context? }.
import { parse } from 'yaml';
import { z } from 'zod';
import { type CredentialStatus, runCredentialPlugin } from '../plugin/run-credential-plugin.ts';
import { clusterConfig, openHub, readSecret, textField } from './hub.ts';

const usage = `Usage: kubeconfig-secretreader

A credential plugin (KEP-541), run by a Kubernetes client. Reads a kubeconfig from data[key] of Secret namespace/name, as the
profile's extension client.authentication.k8s.io/exec says: { name, key, namespace, context }; the last two may be left out.
Takes a token, client-certificate-data with client-key-data, or both.`;

const text = z.string().nullish();
const kubeconfigSchema = z.object({
  'current-context': text,
  extensions: z.array(z.unknown()).nullish(),
  contexts: z.array(z.object({ name: z.string(), context: z.object({ user: text }).nullish() })).nullish(),
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

function credentialOf(kubeconfig: z.output<typeof kubeconfigSchema>, asked: string | undefined): CredentialStatus {
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
  return {
    ...(user.token ? { token: user.token } : {}),
    ...(certificate && key ? { clientCertificateData: decode(certificate), clientKeyData: decode(key) } : {}),
    expirationTimestamp: null,
  };
}

if (process.argv.includes('--help') || process.argv.includes('-h')) console.log(usage);
else {
  await runCredentialPlugin(async ({ spec }) => {
    const config = clusterConfig(spec);
    const [name, key] = [textField(config, 'name'), textField(config, 'key')];
    if (!name) throw new Error('missing name in ExecCredential.Spec.Cluster.Config');
    if (!key) throw new Error('missing key in ExecCredential.Spec.Cluster.Config');
    const hub = openHub();
    const namespace = textField(config, 'namespace') ?? hub.namespace;
    const content = await readSecret(hub, namespace, name, key);
    return credentialOf(readKubeconfig(content, `secret ${namespace}/${name}`), textField(config, 'context'));
  });
}

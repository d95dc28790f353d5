#!/usr/bin/env node
// A credential plugin: the token of Secret <namespace>/<clusterName>, `clusterName` being in the profile's exec extension.
// With --token-request it mints a token of ServiceAccount <namespace>/<clusterName> instead, which expires.
import { parseArgs } from 'node:util';
import { type CredentialStatus, runCredentialPlugin } from '../plugin/run-credential-plugin.ts';
import { clusterConfig, type Hub, openHub, readSecret, reasonOf, textField } from './hub.ts';

const usage = `Usage: secretreader [--namespace NAME] [--token-request [--audience URL] [--expiration-seconds N]]

A credential plugin (KEP-541), run by a Kubernetes client. Reads the key "token" of Secret NAMESPACE/clusterName.
  --namespace           default: the kubeconfig context's, the pod's own, or "default"
  --token-request       mint a token of ServiceAccount NAMESPACE/clusterName instead
  --audience            whom that token is for; may be repeated
  --expiration-seconds  how long it is good for; 600 or more, default 3600`;

const { values } = parseArgs({
  options: {
    namespace: { type: 'string' },
    'token-request': { type: 'boolean', default: false },
    audience: { type: 'string', multiple: true },
    'expiration-seconds': { type: 'string', default: '3600' },
    help: { type: 'boolean', short: 'h' },
  },
});

async function mint({ core }: Hub, namespace: string, name: string): Promise<CredentialStatus> {
  const expirationSeconds = Number(values['expiration-seconds']);
  const body = { spec: { audiences: values.audience ?? [], expirationSeconds } };
  const { status } = await core
    .createNamespacedServiceAccountToken({ name, namespace, body })
    .catch((error: unknown) => {
      throw new Error(`failed to mint a token of service account ${namespace}/${name}: ${reasonOf(error)}`);
    });
  if (!status?.token) throw new Error(`the server gave no token of service account ${namespace}/${name}`);
  const { token, expirationTimestamp } = status;
  return { token, ...(expirationTimestamp ? { expirationTimestamp } : {}) };
}

if (values.help) console.log(usage);
else {
  await runCredentialPlugin(async ({ spec }) => {
    const clusterName = textField(clusterConfig(spec), 'clusterName');
    if (!clusterName) throw new Error('missing clusterName in ExecCredential.Spec.Cluster.Config');
    const hub = openHub();
    const namespace = values.namespace ?? hub.namespace;
    if (values['token-request']) return mint(hub, namespace, clusterName);
    return { token: await readSecret(hub, namespace, clusterName, 'token') };
  });
}

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

interface Settings {
  readonly namespace: string | undefined;
  /** What to ask for, where a token is to be minted. */
  readonly tokenRequest: { readonly audiences: string[]; readonly expirationSeconds: number } | undefined;
  readonly help: boolean;
}

/** Throws an error whose message says what to write instead. */
function readSettings(): Settings {
  const { values } = parseArgs({
    options: {
      namespace: { type: 'string' },
      'token-request': { type: 'boolean', default: false },
      audience: { type: 'string', multiple: true, default: [] },
      'expiration-seconds': { type: 'string', default: '3600' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const expirationSeconds = Number(values['expiration-seconds']);
  if (!Number.isSafeInteger(expirationSeconds) || expirationSeconds < 600) {
    throw new Error('--expiration-seconds must be a whole number of 600 or more');
  }
  const { namespace, audience: audiences, help } = values;
  return { namespace, help, tokenRequest: values['token-request'] ? { audiences, expirationSeconds } : undefined };
}

type TokenRequest = NonNullable<Settings['tokenRequest']>;

async function mint({ core }: Hub, namespace: string, name: string, spec: TokenRequest): Promise<CredentialStatus> {
  const body = { spec };
  const { status } = await core
    .createNamespacedServiceAccountToken({ name, namespace, body })
    .catch((error: unknown) => {
      throw new Error(`failed to mint a token of service account ${namespace}/${name}: ${reasonOf(error)}`);
    });
  if (!status?.token) throw new Error(`the server gave no token of service account ${namespace}/${name}`);
  const { token, expirationTimestamp } = status;
  return { token, ...(expirationTimestamp ? { expirationTimestamp } : {}) };
}

async function run({ namespace: asked, tokenRequest }: Settings): Promise<void> {
  await runCredentialPlugin(async ({ spec }) => {
    const clusterName = textField(clusterConfig(spec), 'clusterName');
    if (!clusterName) throw new Error('missing clusterName in ExecCredential.Spec.Cluster.Config');
    const hub = openHub();
    const namespace = asked ?? hub.namespace;
    if (tokenRequest) return mint(hub, namespace, clusterName, tokenRequest);
    // Nobody knows when it ends, if ever.
    return { token: await readSecret(hub, namespace, clusterName, 'token'), expirationTimestamp: null };
  });
}

let settings: Settings | undefined;
try {
  settings = readSettings();
} catch (error) {
  console.error(`secretreader: ${error instanceof Error ? error.message : 'bad arguments'} (--help explains)`);
  process.exitCode = 2;
}
if (settings?.help) console.log(usage);
else if (settings) await run(settings);

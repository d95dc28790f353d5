/** Gets the token of Secret <namespace>/<clusterName>, or a new token for the service account of that name. */
import { parseArgs } from 'node:util';
import * as z from 'zod/mini';
import type { CredentialStatus } from '../plugin/credential-plugin.ts';
import { askHub, connectHub, getSecret, type HubClient, metadataShape } from './hub.ts';
import {
  checkLabels,
  checkName,
  clusterConfig,
  isPinned,
  type Pins,
  pinOptions,
  pinUsage,
  readPins,
  requiredName,
} from './profile-input.ts';
import type { GetStatus } from './program.ts';

export const usage = `Usage: secretreader [--namespace NAME] [--name NAME] [--label KEY=VALUE]
                    [--token-request --audience URL [--expiration-seconds N]]

A credential plugin (KEP-541), run by a Kubernetes client. Prints the key "token" of Secret NAMESPACE/clusterName; the profile
names the cluster in its exec extension, { clusterName }.
${pinUsage}
                      default namespace: the kubeconfig context's, the pod's own, or "default"
  --token-request     request a token of ServiceAccount NAMESPACE/clusterName instead; needs --audience, and --name or --label
  --audience URL      audience of that token; may be repeated. Must differ from the API server's audiences
  --expiration-seconds N
                      lifetime of that token; 600 or more, default 3600`;

interface TokenRequest {
  readonly audiences: string[];
  readonly expirationSeconds: number;
}

/** The settings, with a TokenRequest if a new token is wanted. Throws an error whose message says what to write instead. */
function readSettings(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...pinOptions,
      'token-request': { type: 'boolean', default: false },
      audience: { type: 'string', multiple: true, default: [] },
      'expiration-seconds': { type: 'string', default: '3600' },
    },
  });
  const expirationSeconds = Number(values['expiration-seconds']);
  if (!Number.isSafeInteger(expirationSeconds) || expirationSeconds < 600) {
    throw new Error('--expiration-seconds must be a whole number of 600 or more');
  }
  const pins = readPins(values);
  if (!values['token-request']) return { pins, tokenRequest: undefined };
  const { audience: audiences } = values;
  if (audiences.length === 0 || audiences.includes('')) {
    const why =
      'without one, the cluster that issues the token accepts it as its own, and the author of a profile could use it there';
    throw new Error(`--token-request needs --audience: ${why}`);
  }
  if (!isPinned(pins)) {
    const why = 'a profile could name any service account of the namespace';
    throw new Error(`--token-request needs --name or --label, which limit what a profile may name: ${why}`);
  }
  return { pins, tokenRequest: { audiences, expirationSeconds } };
}

const mintedSchema = z.object({
  status: z.nullish(z.object({ token: z.nullish(z.string()), expirationTimestamp: z.nullish(z.string()) })),
});

async function mint(
  hub: HubClient,
  namespace: string,
  name: string,
  { pins, spec }: { readonly pins: Pins; readonly spec: TokenRequest },
): Promise<CredentialStatus> {
  const where = `service account ${namespace}/${name}`;
  const what = `mint a token of ${where}`;
  const path = `${namespace}/serviceaccounts/${name}`;
  if (pins.labels.length > 0) {
    const { metadata } = await askHub(hub, what, z.object(metadataShape), path);
    checkLabels(pins, where, metadata);
  }
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  const { status } = await askHub(hub, what, mintedSchema, `${path}/token`, request);
  if (!status?.token) throw new Error(`the server gave no token of ${where}`);
  const { token, expirationTimestamp } = status;
  return { token, ...(expirationTimestamp ? { expirationTimestamp } : {}) };
}

export function secretreader(args: readonly string[]): GetStatus {
  const { pins, tokenRequest } = readSettings(args);
  return async ({ spec }) => {
    const clusterName = requiredName(clusterConfig(spec), 'clusterName');
    checkName(pins, clusterName);
    const hub = await connectHub();
    const namespace = pins.namespace ?? hub.namespace;
    if (tokenRequest) return mint(hub, namespace, clusterName, { pins, spec: tokenRequest });
    const { where, type, metadata, read } = await getSecret(hub, namespace, clusterName);
    checkLabels(pins, where, metadata);
    if (type === 'kubernetes.io/service-account-token') {
      const why = 'it gives access to the cluster that it is stored in';
      throw new Error(`${where} is the token of a service account of this cluster, and is not printed: ${why}`);
    }
    // Its expiry is not known.
    return { token: read('token'), expirationTimestamp: null };
  };
}

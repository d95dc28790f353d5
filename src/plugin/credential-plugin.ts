/** A credential plugin: what it is asked in `KUBERNETES_EXEC_INFO`, and its answer. */
import { isDate } from 'node:util/types';
import type { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import * as z from 'zod/mini'; // a quarter of zod's own time to load, and a plugin is loaded again and again
import { type ApiVersion, apiVersions } from '../access/provider.ts';
import { nearest } from '../access/schema-problems.ts';
import { ExecInfoError } from '../errors/index.ts';
import { AnswerFault, type AnswerStatus, readCredential, toRfc3339 } from '../exec/credential.ts';
import { tryParseJson } from '../util/guards.ts';
import { answerWith, say } from './plugin-process.ts';

/** The answer of a plugin: a token, a client certificate with its key, or both. */
export interface CredentialStatus {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificateData?: string;
  /** PEM. */
  readonly clientKeyData?: string;
  /**
   * When the credential expires: a `Date`, or text in RFC 3339 (`2030-01-02T03:04:05Z`). Without it the client keeps the credential
   * until a server refuses it, and a warning is printed; `null` means that this is intended.
   */
  readonly expirationTimestamp?: Date | string | null;
}

/**
 * Runs a credential plugin: reads the request of the client, calls `getStatus`, and answers on stdout in the requested version. A
 * failure is printed to stderr in one line, with its causes and without anything that looks like a credential, and the process exits
 * with 1. A status that a client would refuse is a failure. Other output to stdout,
 * also by `console.log`, goes to stderr. The process exits when everything is written, whatever timer or connection is still open:
 * code after the call does not run.
 *
 * @example
 * await runCredentialPlugin(async ({ spec }) => ({ token: await readToken(spec.cluster?.config) }));
 */
export async function runCredentialPlugin(
  getStatus: (credential: ExecCredential) => Promise<CredentialStatus> | CredentialStatus,
): Promise<never> {
  return answerWith(async () => {
    const { credential } = loadExecCredentialFromEnv();
    return answerOf(credential.apiVersion, await getStatus(credential));
  });
}

const statusFields = ['token', 'clientCertificateData', 'clientKeyData', 'expirationTimestamp'];

/** Returns the answer in the form of the protocol. Throws if a client would refuse it, so that the author of the plugin sees why. */
function answerOf(apiVersion: ApiVersion, given: CredentialStatus): object {
  if (typeof given !== 'object' || given === null) {
    throw new Error('the plugin gave no status: return { token, expirationTimestamp }');
  }
  for (const field of Object.keys(given)) {
    if (statusFields.includes(field)) continue;
    if (field === 'status') throw new Error('the plugin gave a whole ExecCredential: return its status alone');
    const meant = nearest(field, statusFields);
    if (meant) throw new Error(`the plugin's status has the field ${field}: did you mean ${meant}?`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp: expiry } = given;
  for (const [field, value] of Object.entries({ token, clientCertificateData, clientKeyData })) {
    if (value !== undefined && typeof value !== 'string') throw new Error(`the plugin's ${field} must be text`);
  }
  const status = { token, clientCertificateData, clientKeyData, expirationTimestamp: timestampOf(expiry) };
  const expiresAt = endOf(status);
  if (expiry === undefined) {
    const advice = 'give one that is a little before its end, or null where it has none';
    say(`warning: no expirationTimestamp: the client keeps the credential until a server refuses it; ${advice}`);
  } else if (expiresAt !== undefined && expiresAt <= Date.now()) {
    const then = new Date(expiresAt).toISOString();
    say(`warning: the expirationTimestamp ${then} has passed: check whether the clock is right`);
  }
  return { kind: 'ExecCredential', apiVersion, status };
}

/** When the credential expires, as a client reads it. */
function endOf(status: AnswerStatus): number | undefined {
  try {
    return readCredential(status).expiresAt;
  } catch (fault) {
    throw fault instanceof AnswerFault ? new Error(`the plugin ${fault.reason}`) : fault;
  }
}

/** Kubernetes' times have no fractions of a second. */
function timestampOf(expiry: unknown): string | undefined {
  if (expiry === undefined || expiry === null) return undefined;
  if (typeof expiry === 'string') return expiry;
  if (!isDate(expiry)) {
    const advice = 'give a Date, or text such as 2030-01-02T03:04:05Z; seconds since 1970 are new Date(1000 * seconds)';
    throw new Error(`the plugin's expirationTimestamp is of the type ${typeof expiry}: ${advice}`);
  }
  return toRfc3339(expiry.getTime());
}

/** The cluster that needs the credential, with the field names of the wire. It is not trusted: check what you use. */
export interface ExecCredentialCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string | null | undefined;
  readonly 'insecure-skip-tls-verify'?: boolean | null | undefined;
  /** PEM in base64. */
  readonly 'certificate-authority-data'?: string | null | undefined;
  readonly 'proxy-url'?: string | null | undefined;
  readonly 'disable-compression'?: boolean | null | undefined;
  /** The profile's extension `client.authentication.k8s.io/exec`: any JSON. */
  readonly config?: unknown;
}

/** The input of a plugin (KEP-541), in the version in which the client sent it. */
export interface ExecCredential {
  readonly apiVersion: ApiVersion;
  readonly kind: 'ExecCredential';
  readonly spec: {
    /** Whether the plugin may prompt on the terminal. */
    readonly interactive: boolean;
    /** The cluster that needs the credential, if `provideClusterInfo` is true. */
    readonly cluster?: ExecCredentialCluster | null | undefined;
  };
}

/** What `loadExecCredential` returns: the request of the client, and a config for its cluster. */
export interface LoadedExecCredential {
  readonly credential: ExecCredential;
  /**
   * Returns a client-node config for that cluster, without a user; `undefined` without cluster information. The first call loads
   * client-node, which takes twenty times as long as the rest of a plugin's start.
   */
  readonly loadKubeConfig: () => Promise<KubeConfig | undefined>;
}

const text = z.nullish(z.string('must be text'));
const flag = z.nullish(z.boolean('must be true or false'));
const clusterSchema = z.looseObject(
  {
    server: z.pipe(
      text,
      z.transform((server) => server ?? ''),
    ),
    'tls-server-name': text,
    'insecure-skip-tls-verify': flag,
    'certificate-authority-data': z.nullish(z.base64('must be base64')),
    'proxy-url': text,
    'disable-compression': flag,
  },
  'must be an object',
);
const execInfoSchema = z.looseObject(
  {
    kind: z.literal('ExecCredential', 'must be ExecCredential'),
    apiVersion: z.enum(apiVersions, `must be one of ${apiVersions.join(', ')}`),
    spec: z.pipe(
      z.nullish(z.looseObject({ interactive: flag, cluster: z.nullish(clusterSchema) }, 'must be an object')),
      z.transform((spec) => ({ ...spec, interactive: spec?.interactive ?? false })),
    ),
  },
  'must be an object',
);

async function toKubeConfig({ spec: { cluster } }: ExecCredential): Promise<KubeConfig | undefined> {
  if (!cluster) return undefined;
  const { KubeConfig } = await import('@kubernetes/client-node');
  const kubeConfig = new KubeConfig();
  const name = 'cluster';
  kubeConfig.loadFromOptions({
    clusters: [
      {
        name,
        server: cluster.server,
        caData: cluster['certificate-authority-data'] ?? undefined,
        skipTLSVerify: cluster['insecure-skip-tls-verify'] ?? false,
        tlsServerName: cluster['tls-server-name'] ?? undefined,
        proxyUrl: cluster['proxy-url'] ?? undefined,
      },
    ],
    users: [{ name: 'none' }],
    contexts: [{ name, cluster: name, user: 'none' }],
    currentContext: name,
  });
  return kubeConfig;
}

/**
 * Reads the text of an ExecCredential, JSON or YAML.
 * @throws {ExecInfoError}
 */
export function loadExecCredential(data: string): LoadedExecCredential {
  const parsed = execInfoSchema.safeParse(parseText(data));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') || 'the text';
    throw new ExecInfoError('EXEC_INFO_INVALID', `KUBERNETES_EXEC_INFO: ${field}: ${issue?.message ?? 'is invalid'}`);
  }
  const credential: ExecCredential = parsed.data;
  return { credential, loadKubeConfig: () => toKubeConfig(credential) };
}

/**
 * Reads the environment variable `KUBERNETES_EXEC_INFO`.
 * @throws {ExecInfoError}
 */
export function loadExecCredentialFromEnv(): LoadedExecCredential {
  const data = process.env.KUBERNETES_EXEC_INFO;
  if (data) return loadExecCredential(data);
  const advice = 'this program is a credential plugin, and is run by a Kubernetes client';
  throw new ExecInfoError('EXEC_INFO_MISSING', `KUBERNETES_EXEC_INFO is not set or empty: ${advice}`);
}

/** Clients send JSON; people test plugins with YAML. */
function parseText(data: string): unknown {
  const json = tryParseJson(data);
  if (json !== undefined) return json;
  try {
    return parse(data, { logLevel: 'error' });
  } catch {
    throw new ExecInfoError('EXEC_INFO_INVALID', 'KUBERNETES_EXEC_INFO is neither JSON nor YAML');
  }
}

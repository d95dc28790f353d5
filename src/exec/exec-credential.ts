/**
 * The wire types of KEP-541: what a plugin is told in `KUBERNETES_EXEC_INFO`, and what it answers on stdout.
 * Pure; a fault is an `AnswerFault`, which never holds anything of the answer.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { ResolvedCluster } from '../access/cluster.ts';
import { headerValue } from '../access/header-value.ts';
import type { Json } from '../access/json.ts';
import type { ApiVersion } from '../access/provider.ts';
import { kubernetesYaml } from '../access/yaml-text.ts';
import type { PluginErrorCode } from '../errors.ts';
import { parseRfc3339, zeroTime } from './rfc3339.ts';

/** The longest answer that is read, in bytes. */
export const maxAnswerBytes = 1024 * 1024;

/** `spec.cluster`, in the names of the wire. Absent fields are left out; `server` and `config` are always there. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: true;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly 'disable-compression'?: true;
  readonly config: Json;
}

/** v1alpha1 only: the response that made a refresh necessary. */
export interface ExecResponse {
  readonly code: number;
  readonly header: Readonly<Record<string, readonly string[]>>;
}

/** What the plugin is told of the cluster. */
export function toExecCluster(cluster: ResolvedCluster, config: Json | undefined): ExecCluster {
  return {
    server: cluster.server,
    ...(cluster.tlsServerName ? { 'tls-server-name': cluster.tlsServerName } : {}),
    ...(cluster.insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(cluster.certificateAuthorityData ? { 'certificate-authority-data': cluster.certificateAuthorityData } : {}),
    ...(cluster.proxyUrl ? { 'proxy-url': cluster.proxyUrl } : {}),
    ...(cluster.disableCompression ? { 'disable-compression': true } : {}),
    config: config ?? null,
  };
}

/** The value of `KUBERNETES_EXEC_INFO`. */
export function encodeExecCredential(
  apiVersion: ApiVersion,
  spec: {
    readonly interactive: boolean;
    readonly cluster?: ExecCluster | undefined;
    readonly response?: ExecResponse | undefined;
  },
): string {
  const { interactive, cluster, response } = spec;
  const alpha = apiVersion === 'client.authentication.k8s.io/v1alpha1';
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion,
    // v1alpha1 knew the rejected response and no cluster; its successors the other way round.
    spec: alpha ? { ...(response ? { response } : {}), interactive } : { ...(cluster ? { cluster } : {}), interactive },
  });
}

/** What a plugin returned. Prints as `[credential]`: nothing of it belongs in a log. */
export class Credential {
  readonly #authorization: string | undefined;
  readonly #token: string | undefined;
  readonly #keyPair: KeyPair | undefined;
  /** Milliseconds since 1970; `undefined` means until the server refuses it. */
  readonly expiresAt: number | undefined;

  /** The token has been checked with `headerValue`. */
  constructor(
    token: string | undefined,
    keyPair: KeyPair | undefined,
    expiresAt: number | undefined,
    scheme: 'Bearer' | 'Basic' = 'Bearer',
  ) {
    this.#token = token;
    this.#authorization = token === undefined ? undefined : headerValue(`${scheme} ${token}`);
    this.#keyPair = keyPair;
    this.expiresAt = expiresAt;
  }

  /** The value of the `Authorization` header, where there is a token. */
  get authorization(): string | undefined {
    return this.#authorization;
  }

  /** The client certificate chain and its key, PEM. */
  get keyPair(): KeyPair | undefined {
    return this.#keyPair;
  }

  /** Every text that must never be printed. */
  get secrets(): readonly string[] {
    return [this.#token, this.#keyPair?.key].filter((secret) => secret !== undefined);
  }

  toJSON(): string {
    return '[credential]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[credential]';
  }
}

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly startsAt: number;
  readonly endsAt: number;
  /** A digest of both: equal where they are equal, and no secret. */
  readonly identity: string;
}

/** Why an answer is no credential. */
export class AnswerFault {
  readonly code: PluginErrorCode;
  readonly reason: string;
  constructor(code: PluginErrorCode, reason: string) {
    this.code = code;
    this.reason = reason;
  }
}

const specSchema = z.object({
  interactive: z.boolean().nullish(),
  cluster: z
    .object({
      server: z.string().nullish(),
      'tls-server-name': z.string().nullish(),
      'insecure-skip-tls-verify': z.boolean().nullish(),
      'certificate-authority-data': z.base64().nullish(),
      'proxy-url': z.string().nullish(),
      'disable-compression': z.boolean().nullish(),
    })
    .nullish(),
});
const answerSchema = z.object({
  apiVersion: z.string().nullish(),
  kind: z.string().nullish(),
  // Only checked, as client-go does: what a plugin repeats of its input has to be of the right types.
  spec: specSchema.nullish(),
  status: z
    .object({
      token: z.string().nullish(),
      clientCertificateData: z.string().nullish(),
      clientKeyData: z.string().nullish(),
      expirationTimestamp: z.string().nullish(),
    })
    .nullish(),
});

/** Reads a plugin's stdout. Everything is checked before anything is taken over. Throws an `AnswerFault`. */
export function decodeExecCredential(stdout: string, acceptedVersions: readonly ApiVersion[]): Credential {
  const answer = answerSchema.safeParse(withTypeNames(parseAnswer(stdout)));
  if (!answer.success) {
    const [issue] = answer.error.issues;
    const field = issue?.path.join('.') ?? '';
    if (field === '')
      throw new AnswerFault('ANSWER_UNPARSABLE', 'printed something that is not an ExecCredential object');
    throw new AnswerFault('ANSWER_FIELD_INVALID', `answered with a field "${field}" of the wrong type`);
  }
  const { apiVersion, kind, status } = answer.data;
  if (kind && kind !== 'ExecCredential') {
    throw new AnswerFault(
      'ANSWER_WRONG_KIND',
      `answered with ${mistakenKinds.has(kind) ? `the kind ${kind}` : 'another kind'} instead of ExecCredential`,
    );
  }
  if (!acceptedVersions.some((version) => version === apiVersion)) {
    throw new AnswerFault(
      'ANSWER_WRONG_VERSION',
      `answered ${apiVersion ? `in ${printableVersion(apiVersion)}` : 'without apiVersion'}, and is configured for ` +
        `${acceptedVersions.join(' or ')}: set execConfig.apiVersion to the version it speaks`,
    );
  }
  if (!status) throw new AnswerFault('ANSWER_NO_STATUS', 'answered without status');
  const token = status.token || undefined;
  const keyPair = readKeyPair(status.clientCertificateData || undefined, status.clientKeyData || undefined);
  if (token === undefined && keyPair === undefined) {
    throw new AnswerFault('ANSWER_NO_CREDENTIAL', 'answered with neither a token nor a client certificate and key');
  }
  // A line break or the like can't stand in a header, and would kill a connection that others share.
  if (token !== undefined && headerValue(token) === undefined) {
    throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with a token that cannot stand in a header');
  }
  return new Credential(token, keyPair, readExpiry(status.expirationTimestamp));
}

/** As in Go, the names of these two fields are read without regard to case. */
function withTypeNames(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer;
  const named: Record<string, unknown> = { ...answer };
  for (const name of ['apiVersion', 'kind']) {
    const given = Object.keys(answer).find((key) => key.toLowerCase() === name.toLowerCase());
    if (given !== undefined) named[name] ??= Reflect.get(answer, given);
  }
  return named;
}

function parseAnswer(stdout: string): unknown {
  const text = stdout.replace(/^\uFEFF/, '');
  if (text.trim() === '') throw new AnswerFault('ANSWER_EMPTY', 'ended well but printed nothing on stdout');
  // The parsers' own messages quote the text, so none of them is passed on.
  try {
    // As in client-go: what begins with a brace is JSON, anything else YAML as Kubernetes reads it.
    return /^\s*\{/.test(text) ? JSON.parse(text) : parseYaml(text);
  } catch {
    throw new AnswerFault('ANSWER_UNPARSABLE', 'printed something that is neither JSON nor YAML');
  }
}

/** The first document. Throws anything. */
function parseYaml(text: string): unknown {
  const options = { ...kubernetesYaml, prettyErrors: false, logLevel: 'silent', uniqueKeys: false } as const;
  const [document] = parseAllDocuments(text, options);
  const [error] = document?.errors ?? [];
  if (error) throw error;
  return document?.toJS();
}

/** Checks that a key fits its certificate; both or none. Throws an `AnswerFault`. */
export function readKeyPair(certificate: string | undefined, key: string | undefined): KeyPair | undefined {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined)
    throw new AnswerFault('ANSWER_HALF_PAIR', 'answered with a client key but no certificate');
  if (key === undefined) throw new AnswerFault('ANSWER_HALF_PAIR', 'answered with a client certificate but no key');
  const leaf = tryTo(() => new X509Certificate(certificate));
  const privateKey = tryTo(() => createPrivateKey(key));
  if (!leaf) throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with a client certificate that is not PEM');
  if (!privateKey)
    throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with a client key that is not unencrypted PEM');
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new AnswerFault('ANSWER_KEY_MISMATCH', 'answered with a client key that does not fit its certificate');
  }
  const identity = createHash('sha256').update(certificate).update('\0').update(key).digest('base64');
  return { certificate, key, startsAt: leaf.validFromDate.getTime(), endsAt: leaf.validToDate.getTime(), identity };
}

function readExpiry(timestamp: string | null | undefined): number | undefined {
  if (timestamp === null || timestamp === undefined) return undefined;
  const time = parseRfc3339(timestamp);
  if (time === undefined) {
    throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with an expirationTimestamp that is not an RFC 3339 time');
  }
  return time === zeroTime ? undefined : time;
}

function tryTo<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Kinds that are answered by mistake. */
const mistakenKinds: ReadonlySet<string> = new Set([
  'CertificateSigningRequest',
  'Config',
  'CredentialProviderResponse',
  'List',
  'Secret',
  'Status',
  'TokenRequest',
  'TokenReview',
]);

/** What a plugin wrote in the place of a type is shown only where it is one: a mistake could put a token anywhere. */
function printableVersion(text: string): string {
  return /^(client\.authentication\.k8s\.io\/)?v\d{1,2}((alpha|beta)\d{1,2})?$/.test(text) ? text : 'something else';
}

/**
 * The wire types of KEP-541: a plugin's input in `KUBERNETES_EXEC_INFO`, and its answer on stdout.
 * Pure; a fault is an `AnswerFault`, which never holds anything of the answer.
 */
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { ResolvedCluster } from '../access/cluster.ts';
import type { Json } from '../access/json.ts';
import type { ApiVersion } from '../access/provider.ts';
import { kubernetesYaml } from '../access/yaml-text.ts';
import { AnswerFault, type Credential, logsElsewhere, readCredential } from './credential.ts';

/** Characters of an answer in YAML. It takes a thousand times as long to read as JSON, and nothing else happens in this process meanwhile. */
const maxYamlLength = 128 * 1024;

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

/** The cluster, as the plugin sees it. */
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

const answerSchema = z.object({
  apiVersion: z.string().nullish(),
  kind: z.string().nullish(),
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
  const answer = answerSchema.safeParse(parseAnswer(stdout));
  if (!answer.success) throw typeFault(answer.error.issues[0]?.path ?? []);
  const { apiVersion, kind, status } = answer.data;
  if (kind && kind !== 'ExecCredential') {
    throw new AnswerFault('ANSWER_UNPARSABLE', `answered with ${printableKind(kind)} instead of ExecCredential`);
  }
  if (!acceptedVersions.some((version) => version === apiVersion)) {
    const wrong =
      `answered ${apiVersion ? `in ${printableVersion(apiVersion)}` : 'without apiVersion'}, but is configured for ` +
      `${acceptedVersions.join(' or ')}: set execConfig.apiVersion to the version it speaks`;
    throw new AnswerFault('ANSWER_WRONG_VERSION', wrong);
  }
  if (!status) throw new AnswerFault('ANSWER_NO_CREDENTIAL', 'answered without status');
  return readCredential(status);
}

function typeFault(path: readonly PropertyKey[]): AnswerFault {
  if (path.length > 0)
    return new AnswerFault('ANSWER_FIELD_INVALID', `answered with a field "${path.join('.')}" of the wrong type`);
  return new AnswerFault('ANSWER_UNPARSABLE', `printed something that is not an ExecCredential object${logsElsewhere}`);
}

function parseAnswer(stdout: string): unknown {
  const text = stdout.replace(/^\uFEFF/, '');
  if (text.trim() === '') throw new AnswerFault('ANSWER_EMPTY', 'exited with 0 but printed nothing on stdout');
  // As in client-go: what begins with a brace is JSON, anything else YAML as Kubernetes reads it.
  const isJson = /^\s*\{/.test(text);
  if (!isJson && text.length > maxYamlLength) {
    throw new AnswerFault(
      'ANSWER_TOO_LARGE',
      `printed more YAML than ${maxYamlLength} characters: let it answer in JSON`,
    );
  }
  // The parsers' own messages quote the text, so none of them is passed on.
  try {
    return isJson ? JSON.parse(text) : parseYaml(text);
  } catch {
    throw new AnswerFault('ANSWER_UNPARSABLE', `printed something that is neither JSON nor YAML${logsElsewhere}`);
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

/** What a plugin wrote in the place of a type is shown only if it is one: a mistake could put a token anywhere. */
function printableVersion(text: string): string {
  return /^(client\.authentication\.k8s\.io\/)?v\d{1,2}((alpha|beta)\d{1,2})?$/.test(text) ? text : 'something else';
}

function printableKind(text: string): string {
  return /^([A-Z][a-z]+){1,5}$/.test(text) && text.length <= 30 ? `the kind ${text}` : 'another kind';
}

/** Tokens for GKE clusters: access tokens of a Google identity, from the metadata server or GOOGLE_APPLICATION_CREDENTIALS. */
import { sign } from 'node:crypto';
import { parseArgs } from 'node:util';
import * as z from 'zod/mini';
import { hide } from '../../plugin/plugin-process.ts';
import { tryParseJson } from '../../util/guards.ts';
import { type GetStatus, once, readText, refuseEmpty } from '../program.ts';
import {
  callMetadata,
  callService,
  form,
  httpsUrl,
  jsonOf,
  metadataUrl,
  refusal,
  statusOf,
  type Token,
  tokenOf,
} from './call.ts';

export const usage = `Usage: gke-credentials [--service-account EMAIL]

A credential plugin (KEP-541), run by a Kubernetes client. Prints an access token of a Google identity, as gke-gcloud-auth-plugin
does with --use_application_default_credentials. GKE's API servers, DNS endpoints and the Connect gateway accept it.
  --service-account EMAIL    service account of the metadata server; default: the pod's own, or that of the node
The identity comes from the file in GOOGLE_APPLICATION_CREDENTIALS if it is set, else from the metadata server. The file may be of type
service_account, external_account (with a file or a URL as its source) or impersonated_service_account.
~/.config/gcloud is not read. HTTPS_PROXY is used for Google's token services, never for metadata.`;

/** As gke-gcloud-auth-plugin asks for them; the second one lets servers see an email instead of a number. */
const cloudPlatform = 'https://www.googleapis.com/auth/cloud-platform';
const scopes = [cloudPlatform, 'https://www.googleapis.com/auth/userinfo.email'];

export function gkeCredentials(args: readonly string[]): GetStatus {
  const { values } = parseArgs({
    args: [...args],
    options: { 'service-account': { type: 'string', multiple: true, default: [] } },
  });
  refuseEmpty(values);
  const account = once('service-account', values['service-account']) ?? 'default';
  if (!/^[\w.@-]+$/.test(account) || /^\.+$/.test(account))
    throw new Error('--service-account must be an email address');
  return async () => {
    const { GOOGLE_APPLICATION_CREDENTIALS: file } = process.env;
    if (!file) return statusOf(await fromMetadata(account));
    if (account === 'default') return statusOf(await fromFile(readCredentials(file), scopes, file));
    throw new Error(
      '--service-account is for the metadata server, and GOOGLE_APPLICATION_CREDENTIALS is set: choose one',
    );
  };
}

async function fromMetadata(account: string): Promise<Token> {
  const { GCE_METADATA_IP: ip, GCE_METADATA_HOST: host } = process.env;
  const named = ip || host;
  const base = metadataUrl('GCE_METADATA_HOST', named && `http://${named}`, 'http://169.254.169.254');
  const url = new URL(`/computeMetadata/v1/instance/service-accounts/${account}/token`, base);
  url.searchParams.set('scopes', scopes.join(','));
  const missing = 'there is no Google identity: GOOGLE_APPLICATION_CREDENTIALS is not set';
  const ask = async () => {
    const headers = { 'metadata-flavor': 'Google' };
    const answer = await callMetadata({ url, headers }, { isPatient: true }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : 'no reason given';
      throw new Error(`${missing}; the metadata server ${reason}`);
    });
    if (answer.headers['metadata-flavor'] === 'Google') return answer;
    throw new Error(`${missing}; ${base.host} is not Google's metadata server`);
  };
  const advice = account === 'default' ? 'a service account for the pod or node' : `a service account ${account}`;
  return tokenOf(ask(), `the metadata server needs ${advice}, with the scope cloud-platform`);
}

const text = z.string().check(z.minLength(1));
const optional = z.optional(text);
const sourceSchema = z.object({
  file: optional,
  url: optional,
  headers: z.optional(z.record(z.string(), z.string())),
  format: z.optional(z.object({ type: z.enum(['text', 'json']), subject_token_field_name: optional })),
});
const serviceAccountSchema = z.object({
  type: z.literal('service_account'),
  client_email: text,
  private_key: text,
  private_key_id: optional,
  token_uri: optional,
});
const externalSchema = z.object({
  type: z.literal('external_account'),
  audience: text,
  subject_token_type: text,
  token_url: text,
  credential_source: sourceSchema,
  service_account_impersonation_url: optional,
  service_account_impersonation: z.optional(z.object({ token_lifetime_seconds: z.optional(z.number()) })),
});
const impersonatedSchema = z.object({
  type: z.literal('impersonated_service_account'),
  service_account_impersonation_url: text,
  delegates: z.optional(z.array(text)),
  source_credentials: z.discriminatedUnion('type', [serviceAccountSchema, externalSchema]),
});
const credentialsSchema = z.discriminatedUnion('type', [serviceAccountSchema, externalSchema, impersonatedSchema]);
type Credentials = z.output<typeof credentialsSchema>;

const variable = 'GOOGLE_APPLICATION_CREDENTIALS';

/** Errors quote nothing of the file but the names of fields. */
function readCredentials(file: string): Credentials {
  const content = readText(variable, file);
  const json = tryParseJson(content);
  if (json === undefined) throw new Error(`${variable} ${file} holds no JSON`);
  const parsed = credentialsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const path = parsed.error.issues[0]?.path.join('.') || 'its content';
  const types = 'service_account, external_account or impersonated_service_account (of one of the other two)';
  throw new Error(
    `${variable} ${file}: ${path} ${/^(?:source_credentials\.)?type$/.test(path) ? `must be ${types}` : 'is missing or wrong'}`,
  );
}

async function fromFile(credentials: Credentials, wanted: readonly string[], file: string): Promise<Token> {
  switch (credentials.type) {
    case 'service_account':
      return fromKey(credentials, wanted, file);
    case 'external_account': {
      const { service_account_impersonation_url: url, service_account_impersonation: options } = credentials;
      if (url === undefined) return exchange(credentials, wanted);
      const seconds = options?.token_lifetime_seconds;
      const lifetime = seconds === undefined ? undefined : `${seconds}s`;
      return impersonate(await exchange(credentials, [cloudPlatform]), url, { scope: wanted, lifetime });
    }
    case 'impersonated_service_account': {
      const { service_account_impersonation_url: url, delegates, source_credentials: source } = credentials;
      return impersonate(await fromFile(source, [cloudPlatform], file), url, { scope: wanted, delegates });
    }
  }
}

/** A token for a service account, in exchange for a JWT that its key signs (RFC 7523). */
async function fromKey(
  { client_email: email, private_key: key, private_key_id: kid, token_uri }: z.output<typeof serviceAccountSchema>,
  wanted: readonly string[],
  file: string,
): Promise<Token> {
  const endpoint = token_uri ?? 'https://oauth2.googleapis.com/token';
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: email, scope: wanted.join(' '), aud: endpoint, iat: now, exp: now + 3_600 };
  const [head, body] = [{ alg: 'RS256', typ: 'JWT', kid }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  let signature: Buffer;
  try {
    signature = sign('sha256', Buffer.from(`${head}.${body}`), key);
  } catch {
    throw new Error(`${variable} ${file}: private_key is not a private key in PEM`);
  }
  const assertion = `${head}.${body}.${signature.toString('base64url')}`;
  hide(assertion);
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const asking = callService({ url: httpsUrl('token_uri', endpoint), ...form({ grant_type, assertion }) });
  return tokenOf(asking, 'check whether the key still exists and the service account is enabled');
}

/** A federated token, in exchange for the token of another issuer (RFC 8693). */
async function exchange(credentials: z.output<typeof externalSchema>, wanted: readonly string[]): Promise<Token> {
  const { audience, subject_token_type, token_url, credential_source: source } = credentials;
  const subject_token = await subjectOf(source);
  hide(subject_token);
  const fields = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope: wanted.join(' '),
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token,
    subject_token_type,
  };
  const what = 'issuer, audience and attribute condition of the workload identity pool provider';
  return tokenOf(
    callService({ url: httpsUrl('token_url', token_url), ...form(fields) }),
    `compare the token of credential_source with the ${what}, and check whether it has expired`,
  );
}

async function subjectOf({ file, url, headers = {}, format }: z.output<typeof sourceSchema>): Promise<string> {
  let content: string;
  let where: string;
  if (file !== undefined) {
    where = `credential_source.file ${file}`;
    content = readText('credential_source.file', file);
  } else if (url !== undefined) {
    where = 'the answer of credential_source.url';
    const call = { url: metadataUrl('credential_source.url', url, ''), headers };
    for (const secret of Object.values(headers)) hide(secret);
    const answer = call.url.protocol === 'https:' ? await callService(call) : await callMetadata(call);
    if (answer.statusCode !== 200) throw refusal(answer, 'correct credential_source');
    content = answer.text.trim();
  } else throw new Error('credential_source must have a file or a url: programs and AWS sources are not supported');
  if (format?.type !== 'json') return content;
  const field = format.subject_token_field_name ?? 'access_token';
  const value: unknown = Object(tryParseJson(content))[field];
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${where} has no text in the field ${field} (format.subject_token_field_name)`);
}

const impersonatedSchemaOfAnswer = z.object({ accessToken: text, expireTime: text });

/** A token for a service account that the holder of another token may impersonate. */
async function impersonate({ token }: Token, url: string, request: object): Promise<Token> {
  const answer = await callService({
    url: httpsUrl('service_account_impersonation_url', url),
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  const parsed = impersonatedSchemaOfAnswer.safeParse(jsonOf(answer));
  const advice =
    'grant the identity roles/iam.serviceAccountTokenCreator (or workloadIdentityUser) on the service account';
  if (answer.statusCode !== 200 || !parsed.success) throw refusal(answer, advice);
  const expiresAt = Date.parse(parsed.data.expireTime);
  if (Number.isNaN(expiresAt)) throw refusal(answer);
  return { token: parsed.data.accessToken, expiresAt };
}

/** A token of an OAuth 2.0 or OpenID Connect issuer: the proof of who the client is, whom `fetch` trusts, and the request. */
import { createPrivateKey, type KeyObject, type webcrypto } from 'node:crypto';
import tls from 'node:tls';
import * as oidc from 'openid-client';
import { createGlob } from '../../access/url-pattern.ts';
import type { CredentialStatus } from '../../plugin/credential-plugin.ts';
import { hide } from '../../plugin/plugin-process.ts';
import { codeFieldOf } from '../../util/guards.ts';
import { expiryOfJwt, timeOf } from '../../util/jwt.ts';
import { printable } from '../../util/printable.ts';
import { textField } from '../profile-input.ts';
import { readText } from '../program.ts';
import { type IssuerSettings, type KeyAlgorithm, keyAlgorithms } from './settings.ts';

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const jwtAssertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** `profile` is its exec extension. */
export async function tokenOfIssuer(settings: IssuerSettings, profile: unknown): Promise<CredentialStatus> {
  const audiences = audiencesOf(settings, profile);
  const { url, subject, scopes, resources, wantsIdToken, caFile } = settings;
  const parameters = new URLSearchParams();
  if (scopes.length > 0) parameters.set('scope', scopes.join(' '));
  for (const audience of audiences) parameters.append('audience', audience);
  for (const resource of resources) parameters.append('resource', resource);
  if (subject) {
    parameters.set('subject_token', readSecret('--subject-token-file', subject.file));
    parameters.set('subject_token_type', subject.type);
  }
  const proof = clientAuthentication(settings.proof);
  trustAndProxies(caFile);
  const asked = Date.now();
  try {
    const config = await configure(settings, proof);
    const answer = subject
      ? await oidc.genericGrantRequest(config, exchangeGrant, parameters)
      : await oidc.clientCredentialsGrant(config, parameters);
    const token = wantsIdToken ? answer.id_token : answer.access_token;
    if (!token) throw new Error('the issuer gave no ID token: ask for --scope openid, or leave --id-token out');
    const seconds = wantsIdToken ? undefined : answer.expires_in;
    const ends = [expiryOfJwt(token), seconds === undefined ? undefined : timeOf(asked + seconds * 1_000)];
    const first = Math.min(...ends.filter((end) => end !== undefined));
    return { token, ...(Number.isFinite(first) ? { expirationTimestamp: new Date(first) } : {}) };
  } catch (error) {
    throw await explain(error, url.href);
  }
}

async function configure(
  { url, isIssuer, clientId, timeoutSeconds }: IssuerSettings,
  proof: oidc.ClientAuth,
): Promise<oidc.Configuration> {
  if (isIssuer) return oidc.discovery(url, clientId, {}, proof, { timeout: timeoutSeconds });
  // The name of such an issuer is not known; an assertion may be for the endpoint as well (RFC 7523).
  const metadata = { issuer: url.href, token_endpoint: url.href };
  const config = new oidc.Configuration(metadata, clientId, {}, proof);
  config.timeout = timeoutSeconds;
  return config;
}

function clientAuthentication(proof: IssuerSettings['proof']): oidc.ClientAuth {
  switch (proof?.kind) {
    case undefined:
      return oidc.None();
    case 'client-secret-file': {
      const secret = readSecret('--client-secret-file', proof.file);
      const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
      return (server, ...rest) => (takesBasic(server) ? basic : post)(server, ...rest);
    }
    case 'client-assertion-file': {
      const assertion = readSecret('--client-assertion-file', proof.file);
      return (_server, client, body) => {
        body.set('client_id', client.client_id);
        body.set('client_assertion_type', jwtAssertion);
        body.set('client_assertion', assertion);
      };
    }
    case 'client-key-file': {
      const pem = readText('--client-key-file', proof.file);
      try {
        const key = readClientKey(pem, proof.algorithm);
        return oidc.PrivateKeyJwt(proof.keyId === undefined ? key : { key, kid: proof.keyId });
      } catch (error) {
        throw new Error(`--client-key-file ${proof.file} ${error instanceof Error ? error.message : 'cannot be used'}`);
      }
    }
  }
}

/** Every issuer has to accept it (RFC 6749), but some say that they accept only the other one. */
function takesBasic({ token_endpoint_auth_methods_supported: methods }: oidc.ServerMetadata): boolean {
  return !methods?.includes('client_secret_post') || methods.includes('client_secret_basic');
}

/** Secrets that are sent to the issuer. Its errors may repeat them, as they are or form-encoded, and they must not be shown. */
function readSecret(option: string, file: string): string {
  const secret = readText(option, file);
  hide(secret);
  const toHex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  hide(
    encodeURIComponent(secret)
      .replace(/[-_.!~*'()]/g, toHex)
      .replaceAll('%20', '+'),
  );
  return secret;
}

/** The token's audiences: those of the operator, and that of the profile if the operator allows it. */
function audiencesOf(settings: IssuerSettings, config: unknown): readonly string[] {
  const { audiences, profileAudiences, resources } = settings;
  const named = textField(config, 'audience');
  if (named === undefined) {
    if (profileAudiences.length === 0 || audiences.length > 0 || resources.length > 0) return audiences;
    // A token for the issuer's default audience would be valid for more than this cluster.
    throw new Error('the profile names no audience: its extension has to (--profile-audience), or give --audience');
  }
  // Some issuers read a text with spaces as several audiences.
  if (/[\s\p{C}]/u.test(named)) throw new Error('the profile names an audience with spaces or control characters');
  if (profileAudiences.some((pattern) => createGlob(pattern)(named))) return [...audiences, named];
  const allowed = profileAudiences.length === 0 ? 'no audience' : `only ${profileAudiences.join(', ')}`;
  throw new Error(`the profile names the audience ${named}, and may name ${allowed} (--profile-audience)`);
}

const imports: {
  readonly [A in KeyAlgorithm]: { readonly type: string; readonly key: Parameters<KeyObject['toCryptoKey']>[0] };
} = {
  RS256: { type: 'rsa', key: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } },
  PS256: { type: 'rsa', key: { name: 'RSA-PSS', hash: 'SHA-256' } },
  ES256: { type: 'prime256v1', key: { name: 'ECDSA', namedCurve: 'P-256' } },
  ES384: { type: 'secp384r1', key: { name: 'ECDSA', namedCurve: 'P-384' } },
  EdDSA: { type: 'ed25519', key: { name: 'Ed25519' } },
};

/** Reads PEM. Without a given algorithm it is the usual one for the key's type. Throws an error that quotes nothing of the key. */
export function readClientKey(pem: string, asked: KeyAlgorithm | undefined): webcrypto.CryptoKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new Error('holds no private key: it has to be PEM, and not encrypted');
  }
  const type = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType ?? 'unknown';
  const fitting = keyAlgorithms.filter((candidate) => imports[candidate].type === type);
  const algorithm = asked ?? fitting[0];
  if (algorithm && fitting.includes(algorithm)) return key.toCryptoKey(imports[algorithm].key, false, ['sign']);
  const known = fitting.join(' or ') || 'no known algorithm';
  throw new Error(`holds a key of the type ${type}, which is for ${known}${asked ? `, not for ${asked}` : ''}`);
}

/** Trusts only the authorities of a file, if there is one, else all public roots and the system's. Uses the proxies of the environment. */
function trustAndProxies(caFile: string | undefined): void {
  if (caFile === undefined)
    tls.setDefaultCACertificates([
      ...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')]),
    ]);
  else trustOnly(caFile);
  try {
    // Newer versions of Node have it; in others NODE_USE_ENV_PROXY=1 does the same. An import of node:http would load all of undici.
    process.getBuiltinModule('node:http').setGlobalProxyFromEnv?.();
  } catch {
    // Its own message could hold the proxy's password.
    throw new Error('HTTPS_PROXY or HTTP_PROXY of the environment is not a URL that Node can use: correct it');
  }
}

function trustOnly(caFile: string): void {
  const ca = readText('--ca-file', caFile);
  try {
    tls.setDefaultCACertificates([ca]);
  } catch {
    throw new Error(`--ca-file ${caFile} holds no certificates in PEM`);
  }
}

/** Error codes of a token endpoint, by RFC 6749, RFC 8693 and RFC 8707. */
const advice: Readonly<Record<string, string>> = {
  invalid_client: 'check whether --client-id and its client authentication are those that the issuer has registered',
  unauthorized_client: 'allow this grant type for the client at the issuer',
  unsupported_grant_type: 'the issuer does not support this grant type: check whether it is enabled for the client',
  invalid_grant:
    'check whether the token in --subject-token-file is from an issuer that this one trusts, and has not expired',
  invalid_scope: 'correct --scope',
  invalid_target: 'correct --audience or --resource, or allow it for the client',
};

/** The message says what to do, and holds nothing that was sent to the issuer, whose URL is `issuer`. */
async function explain(error: unknown, issuer: string): Promise<Error> {
  if (error instanceof oidc.ResponseBodyError)
    return refusal(issuer, error.status, error.error, error.error_description);
  // RFC 6749: a client that used the header Authorization gets a challenge. The reason is in the body here too.
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    const { error: code, error_description: description } = Object(await error.response.json().catch(() => undefined));
    return refusal(issuer, error.status, typeof code === 'string' ? code : 'invalid_client', description);
  }
  if (!(error instanceof oidc.ClientError || error instanceof TypeError)) {
    return error instanceof Error ? error : new Error('no reason given');
  }
  const { code = error.message } = codeFieldOf(error);
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
    return new Error(`the metadata of ${issuer} name another issuer: write --issuer exactly as it names itself`);
  }
  if (code === 'OAUTH_TIMEOUT' || code === 'ABORT_ERR' || isTimeout(error)) {
    return new Error(`${issuer} has not answered in time (--timeout-seconds)`);
  }
  if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM') return notConform(error, issuer);
  if (code.startsWith('OAUTH_')) return new Error(`${issuer}: ${error.message} (${code})`);
  const trust = /CERT|ISSUER|LEAF_SIGNATURE/.test(code) ? '; --ca-file names the authority of its certificate' : '';
  return new Error(`${issuer} cannot be reached (${code})${trust}`);
}

function refusal(issuer: string, status: number, code: string, description: unknown): Error {
  const said = printable(typeof description === 'string' ? `${code}: ${description}` : code, 1_024);
  const what = Object.hasOwn(advice, code) ? advice[code] : undefined;
  return new Error(`${issuer} answered ${status} (${said})${what === undefined ? '' : `; ${what}`}`);
}

function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'TimeoutError' || isTimeout(error.cause);
}

function notConform({ cause }: Error, issuer: string): Error {
  const status = cause instanceof Response ? cause.status : undefined;
  if (status !== undefined && (status >= 500 || status === 429)) {
    return new Error(`${issuer} answered ${status}: try again later, or ask its operator`);
  }
  const what = status === undefined ? '' : ` (HTTP ${status})`;
  return new Error(`${issuer} did not answer like an issuer${what}: check whether the URL is right`);
}

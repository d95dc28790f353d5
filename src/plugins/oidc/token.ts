/** A token of an issuer, or of a file, as the status of an ExecCredential. */
import * as oidc from 'openid-client';
import { createGlob } from '../../access/glob.ts';
import { expiryOfJwt, timeOf } from '../../exec/jwt.ts';
import type { ExecCredential } from '../../plugin/exec-info.ts';
import { hide } from '../../plugin/plugin-process.ts';
import type { CredentialStatus } from '../../plugin/run-credential-plugin.ts';
import { tokenOfManagedIdentity, tokenOfWorkloadIdentity } from '../cloud/azure.ts';
import { textField } from '../exec-config.ts';
import { readText } from '../files.ts';
import { readClientKey } from './client-key.ts';
import { trustAndProxies } from './connections.ts';
import { explain } from './explain.ts';
import { type IssuerSettings, type Proof, readSettings } from './settings.ts';

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const jwtAssertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The function that answers with these arguments. Throws if they are wrong. */
export function oidcCredentials(args: readonly string[]): (credential: ExecCredential) => Promise<CredentialStatus> {
  const settings = readSettings(args);
  if ('tokenFile' in settings) return async () => tokenOfFile(settings.tokenFile);
  if ('azure' in settings)
    return settings.azure === 'workload identity'
      ? tokenOfWorkloadIdentity
      : () => tokenOfManagedIdentity(settings.client);
  return async ({ spec }) => tokenOfIssuer(settings, audiencesOf(settings, spec.cluster?.config));
}

function tokenOfFile(file: string): CredentialStatus {
  const token = readText('--token-file', file);
  const endsAt = expiryOfJwt(token);
  if (endsAt === undefined)
    throw new Error(`--token-file ${file} holds no JWT with an exp claim in seconds since 1970`);
  if (endsAt > Date.now()) return { token, expirationTimestamp: new Date(endsAt) };
  const expired = new Date(endsAt).toISOString();
  throw new Error(
    `--token-file ${file} holds a token that expired at ${expired}: check whether the program that writes it still runs`,
  );
}

/** The token's audiences: those of the operator, and that of the profile where the operator allows it. */
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

async function tokenOfIssuer(settings: IssuerSettings, audiences: readonly string[]): Promise<CredentialStatus> {
  const { issuer, tokenEndpoint, subject, scopes, resources, wantsIdToken, caFile } = settings;
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
    const ends = [expiryOfJwt(token), wantsIdToken ? undefined : endAfter(asked, answer.expires_in)];
    const first = Math.min(...ends.filter((end) => end !== undefined));
    return { token, ...(Number.isFinite(first) ? { expirationTimestamp: new Date(first) } : {}) };
  } catch (error) {
    throw await explain(error, (issuer ?? tokenEndpoint)?.href ?? 'the issuer');
  }
}

async function configure(
  { issuer, tokenEndpoint, clientId, timeoutSeconds }: IssuerSettings,
  proof: oidc.ClientAuth,
): Promise<oidc.Configuration> {
  if (issuer) return oidc.discovery(issuer, clientId, {}, proof, { timeout: timeoutSeconds });
  // The name of such an issuer is not known; an assertion may be for the endpoint as well (RFC 7523).
  const endpoint = tokenEndpoint?.href ?? '';
  const metadata = { issuer: endpoint, token_endpoint: endpoint };
  const config = new oidc.Configuration(metadata, clientId, {}, proof);
  config.timeout = timeoutSeconds;
  return config;
}

function clientAuthentication(proof: Proof): oidc.ClientAuth {
  switch (proof.kind) {
    case 'none':
      return oidc.None();
    case 'secret': {
      const secret = readSecret('--client-secret-file', proof.file);
      const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
      return (server, ...rest) => (takesBasic(server) ? basic : post)(server, ...rest);
    }
    case 'assertion': {
      const assertion = readSecret('--client-assertion-file', proof.file);
      return (_server, client, body) => {
        body.set('client_id', client.client_id);
        body.set('client_assertion_type', jwtAssertion);
        body.set('client_assertion', assertion);
      };
    }
    case 'key': {
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

function endAfter(asked: number, seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : timeOf(asked + seconds * 1_000);
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

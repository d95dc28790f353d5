/** Turns errors of openid-client into messages that say what to do. They contain nothing that was sent to the issuer. */
import { ClientError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { codeFieldOf } from '../../util/errno.ts';
import { printable } from '../../util/printable.ts';

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

/** `issuer` is its URL. */
export async function explain(error: unknown, issuer: string): Promise<Error> {
  if (error instanceof ResponseBodyError) return refusal(issuer, error.status, error.error, error.error_description);
  // RFC 6749: a client that used the header Authorization gets a challenge. The reason is in the body here too.
  if (error instanceof WWWAuthenticateChallengeError) {
    const { error: code, error_description: description } = await bodyOf(error.response);
    return refusal(issuer, error.status, typeof code === 'string' ? code : 'invalid_client', description);
  }
  if (!(error instanceof ClientError || error instanceof TypeError)) {
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
  const what = advice[code];
  return new Error(`${issuer} answered ${status} (${said})${what === undefined ? '' : `; ${what}`}`);
}

async function bodyOf(response: Response): Promise<{ readonly error?: unknown; readonly error_description?: unknown }> {
  try {
    return Object(await response.json());
  } catch {
    return {};
  }
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

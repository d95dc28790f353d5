/**
 * What a request fails with, as this package says it: the one place that reads the errors of Node and undici. An error and its
 * cluster come in, our own error goes out.
 */
import { type ClusterOfError, ConnectionError, CredentialsError, PluginError, RequestError } from '../errors.ts';
import { UnsentError } from './pooled-socket.ts';
import { SilentPeer } from './watchdog.ts';

/** What is known of the cluster when a connection fails. */
export interface ClusterFacts extends ClusterOfError {
  /** The profile, or the kubeconfig, names an authority. */
  readonly hasAuthority: boolean;
  /** For messages: without its login. */
  readonly proxy?: string | undefined;
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** What a connection that breaks is called. */
const lostCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * Whether a request without an answer may go out again: the server has not looked at it, or its connection broke and it
 * changes nothing.
 */
export function mayGoOutAgain(error: Error, method: string): boolean {
  if (error instanceof UnsentError || /GOAWAY|REFUSED_STREAM/.test(error.message)) return true;
  return safeMethods.has(method.toUpperCase()) && lostCodes.has(codeOf(error));
}

/** Our own error for what a request failed with; what is none of the connection's stays as it is. */
export function toOwnError(error: Error, cluster: ClusterFacts): Error {
  if (error instanceof PluginError || error instanceof RequestError) return error.of(cluster);
  if (error instanceof CredentialsError) return error;
  const code = codeOf(error);
  const fail = (...[own, message]: [ConnectionError['code'], string]) =>
    new ConnectionError(own, cluster, message, { cause: error });
  const known = messages[code];
  if (known) return fail(known[0], `${known[1]} (${code})`);
  if (untrusted.has(code)) return fail('TLS_UNTRUSTED', untrustedMessage(code, cluster));
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return fail('TLS_NAME_MISMATCH', nameMessage(error));
  if (/^(ERR_SSL_|EPROTO)/.test(code)) return fail('TLS_FAILED', tlsMessage(error, code));
  if (
    error instanceof UnsentError ||
    error instanceof SilentPeer ||
    lostCodes.has(code) ||
    /^(ERR_HTTP2_|UND_ERR_INFO|HPE_)/.test(code)
  )
    return fail(
      'CONNECTION_LOST',
      `the connection was lost (${error.message}): see what stands between, and the server's log`,
    );
  if (code.startsWith('UND_ERR_')) {
    return new RequestError(
      'REQUEST_INVALID',
      `the request cannot be sent: ${error.message}`,
      { cause: error },
      cluster,
    );
  }
  return error;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

type Message = readonly [ConnectionError['code'], string];

const notFound: Message = [
  'HOST_NOT_FOUND',
  'its host name is not known: see whether the name in server is right, and whether DNS works here',
];
const unreachable: Message = [
  'CONNECT_FAILED',
  'there is no route to it: see whether the address in server is right, and whether this network reaches it',
];
const silent: Message = [
  'CONNECT_TIMEOUT',
  'it does not answer: see whether the server runs, and whether a firewall or a missing proxy is in the way',
];
const slow: Message = [
  'RESPONSE_TIMEOUT',
  'the connection stands, and no answer came in time: see whether the server is busy',
];
const expired: Message = [
  'TLS_EXPIRED',
  "the server's certificate is not valid now: renew it, or correct this machine's clock",
];

const messages: Readonly<Record<string, Message>> = {
  ENOTFOUND: notFound,
  EAI_AGAIN: notFound,
  EAI_NODATA: notFound,
  ECONNREFUSED: ['CONNECT_FAILED', 'nothing listens there: see whether the server runs and server is right'],
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  EADDRNOTAVAIL: unreachable,
  ECONNABORTED: unreachable,
  EACCES: ['CONNECT_FAILED', 'this machine does not allow the connection: see its firewall rules'],
  ETIMEDOUT: silent,
  UND_ERR_CONNECT_TIMEOUT: silent,
  UND_ERR_HEADERS_TIMEOUT: slow,
  UND_ERR_BODY_TIMEOUT: slow,
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: expired,
};

const untrusted: ReadonlySet<string> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function untrustedMessage(code: string, { hasAuthority }: ClusterFacts): string {
  return hasAuthority
    ? `the server's certificate does not come from certificate-authority-data (${code}): put the authority of this server there`
    : `no authority that this machine trusts has signed the server's certificate (${code}), and there is no ` +
        "certificate-authority-data: put the PEM of the cluster's authority there, as base64";
}

/** What a certificate says comes from the server: the error prints it escaped and cut. */
function nameMessage(error: Error): string {
  const host: unknown = Reflect.get(error, 'host');
  const names: unknown = Reflect.get(Object(Reflect.get(error, 'cert')), 'subjectaltname');
  return (
    `the server's certificate is for ${typeof names === 'string' && names !== '' ? names : 'no name'}, ` +
    `not for ${typeof host === 'string' ? host : 'this host'}: correct server, or set tls-server-name to one of its names`
  );
}

function tlsMessage({ message }: Error, code: string): string {
  if (/alert (?:unknown ca|bad certificate|certificate (?:unknown|required|expired|revoked))/i.test(message))
    return `the server refused the client certificate (${code}): see what the plugin answers, and what the server trusts`;
  if (/wrong version number|packet length too long|http request/i.test(message))
    return `it does not speak TLS (${code}): see whether the port in server is right`;
  return `there is no TLS connection with it (${code})`;
}

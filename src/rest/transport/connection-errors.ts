/** The one place that reads the errors of Node and undici. An error and its cluster come in, our own error goes out. */
import {
  type ClusterOfError,
  ConnectionError,
  CredentialsError,
  PluginError,
  RequestError,
} from '../../errors/index.ts';
import { UnsentError } from './wire-request.ts';

/** The cluster, for the message of a connection that failed. */
export interface ClusterFacts extends ClusterOfError {
  /** The profile, or the kubeconfig, names an authority. */
  readonly hasAuthority: boolean;
}

/** The errors that came while a connection was being opened: their codes alone do not say it. */
const connectErrors = new WeakSet<Error>();

export function markConnecting(error: Error): void {
  connectErrors.add(error);
}

/** Codes of a broken connection. */
const lostCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
/** The same of one that was open: keep-alive found its peer dead, or a router did. */
const brokenCodes: ReadonlySet<string> = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNABORTED']);

/** Codes and names of errors about a request that undici or Node cannot send; all others are about the connection. */
const requestCodes: ReadonlySet<string> = new Set([
  'ERR_HTTP2_CONNECT_AUTHORITY',
  'ERR_HTTP2_HEADER_SINGLE_VALUE',
  'ERR_HTTP2_INVALID_CONNECTION_HEADERS',
  'ERR_HTTP2_INVALID_HEADER_VALUE',
  'ERR_HTTP2_INVALID_PSEUDOHEADER',
  'ERR_INVALID_ARG_TYPE',
  'ERR_INVALID_ARG_VALUE',
  'ERR_INVALID_CHAR',
  'ERR_INVALID_HTTP_TOKEN',
  'NotReadableError',
  'TypeError',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_INVALID_RETURN_VALUE',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** Codes of errors about a response that cannot be read. */
const answerCodes: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
]);

/** Whether Node or undici says that the connection broke. */
export function isLost(error: Error): boolean {
  const code = codeOf(error);
  return lostCodes.has(code) || (brokenCodes.has(code) && !connectErrors.has(error));
}

/** Whether the server has not processed the request (RFC 9113, 8.7). The error may be Node's or undici's, or ours with theirs as its cause. */
export function isUnprocessed(error: Error): boolean {
  // The first: a stream that Node is asked for after its session has ended.
  return [error, error.cause].some(
    (one) =>
      ['ERR_HTTP2_INVALID_SESSION', UnsentError.code].includes(codeOf(one)) ||
      (one instanceof Error && /GOAWAY|REFUSED_STREAM/.test(one.message)),
  );
}

/** Whether the connection was open, and no response began in time: the peer may have died. */
export function isUnanswered({ cause }: Error): boolean {
  return codeOf(cause) === 'UND_ERR_HEADERS_TIMEOUT';
}

/** Our own error for the one that a request failed with. An unknown one means that the connection failed to open, or broke. */
export function toOwnError(error: Error, cluster: ClusterFacts): Error {
  if (error instanceof PluginError || error instanceof RequestError) return error.of(cluster);
  if (error instanceof CredentialsError) return error;
  const code = codeOf(error);
  const fail = (...[own, message]: [ConnectionError['code'], string]) =>
    new ConnectionError(own, cluster, message, { cause: withoutDetails(error) });
  const lost = isLost(error);
  const known = lost ? undefined : messages[code];
  if (known) return fail(known[0], `${known[1]} (${code})`);
  if (untrusted.has(code)) return fail('TLS_UNTRUSTED', untrustedMessage(code, cluster));
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return fail('TLS_NAME_MISMATCH', nameMessage(error));
  if (/^(ERR_SSL_|EPROTO)/.test(code)) return fail('TLS_FAILED', tlsMessage(error, code));
  if (connectErrors.has(error) && !lost) return fail(...connectFailure(error, code));
  if ([code, codeOf(error.cause), error.name].some((one) => requestCodes.has(one))) return cannotBeSent(error, cluster);
  if (answerCodes.has(code) || code.startsWith('HPE_') || error.name === 'HTTPParserError') {
    const message = `the response is not valid HTTP: ${error.message}: check the proxies and gateways in between`;
    return new RequestError('RESPONSE_INVALID', message, { cause: withoutDetails(error) }, cluster);
  }
  if (error.message.includes('ENHANCE_YOUR_CALM')) return fail('CONNECTION_LOST', calmMessage);
  return fail(
    'CONNECTION_LOST',
    `the connection was lost (${error.message}): check the server's log, and the proxies and gateways in between`,
  );
}

/** For what this package or undici threw before the request was sent: headers of another form, an impossible body. */
export function cannotBeSent(error: unknown, cluster: ClusterFacts): CredentialsError {
  if (error instanceof CredentialsError) return error;
  const message = `the request cannot be sent: ${error instanceof Error ? error.message : error}`;
  return new RequestError('REQUEST_INVALID', message, { cause: withoutDetails(error) }, cluster);
}

/** Name, code and message alone: errors of Node and undici may carry what was received, and so a token that the server has echoed. */
function withoutDetails(error: unknown): Error {
  const { name = 'Error', message = 'no error' } = error instanceof Error ? error : {};
  const code = codeOf(error);
  return Object.assign(new Error(message), { name, ...(code === '' ? {} : { code }) });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

const calmMessage =
  'the request was reset (ENHANCE_YOUR_CALM), though the server may have executed it: the HTTP/2 connection of this process ' +
  'was over its limits, and later requests use another one';

type Message = readonly [ConnectionError['code'], string];

const notFound: Message = [
  'HOST_NOT_FOUND',
  'its host name does not resolve: check the name in server, and DNS on this machine',
];
const unreachable: Message = [
  'CONNECT_FAILED',
  "there is no route to it: check the address in server, and this machine's network",
];
const silent: Message = [
  'CONNECT_TIMEOUT',
  'it does not answer: check whether the server runs, and whether a firewall or a missing proxy is in the way',
];
const slow: Message = [
  'RESPONSE_TIMEOUT',
  'the connection is open, but no response came in time: check whether the server is overloaded',
];
const expired: Message = [
  'TLS_EXPIRED',
  "the server's certificate is not valid now: renew it, or correct this machine's clock",
];

const descriptors = 'raise its limit of open files (ulimit -n), and find out what keeps so many open';

const messages: Readonly<Record<string, Message>> = {
  ENOTFOUND: notFound,
  EAI_AGAIN: notFound,
  EAI_NODATA: notFound,
  ECONNREFUSED: [
    'CONNECT_FAILED',
    'nothing is listening there: check that the server runs and that the server field is right',
  ],
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  EADDRNOTAVAIL: unreachable,
  ECONNABORTED: unreachable,
  EMFILE: ['CONNECT_FAILED', `this process has no free descriptors: ${descriptors}`],
  ENFILE: ['CONNECT_FAILED', `this machine has no free descriptors: ${descriptors}`],
  EACCES: ['CONNECT_FAILED', 'this machine does not allow the connection: see its firewall rules'],
  ETIMEDOUT: silent,
  UND_ERR_CONNECT_TIMEOUT: silent,
  ERR_NO_STREAM: [
    'CONNECT_TIMEOUT',
    'the server accepts no requests on its connections: check whether it is shutting down or overloaded, and the proxies and gateways in between',
  ],
  UND_ERR_HEADERS_TIMEOUT: slow,
  UND_ERR_BODY_TIMEOUT: [
    'RESPONSE_TIMEOUT',
    'the response stopped before it was complete: check whether the server runs, and the proxies and gateways in between',
  ],
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: expired,
};

/** The authority of a certificate is not trusted, or not known. */
const untrusted: ReadonlySet<string> = new Set([
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** A connection that could not be opened, for a reason without a message of its own here. */
function connectFailure(error: Error, code: string): Message {
  if (/not (?:yet )?implemented/i.test(error.message))
    return [
      'CONNECT_FAILED',
      `this runtime lacks what a connection needs (${error.message}): use Node; Bun is not supported`,
    ];
  if (typeof Reflect.get(error, 'syscall') === 'string')
    return ['CONNECT_FAILED', `it cannot be reached (${code}): check server, and this machine's log`];
  if (code.startsWith('ERR_') || error.name !== 'Error')
    return ['TLS_FAILED', tlsMessage(error, code || error.message)];
  // What OpenSSL says of a certificate that it has read.
  const advice = 'issue a server certificate that current TLS accepts, and check the authorities above it';
  return ['TLS_UNTRUSTED', `the server's certificate is refused (${error.message}): ${advice}`];
}

function untrustedMessage(code: string, { hasAuthority }: ClusterFacts): string {
  return hasAuthority
    ? `the server's certificate was not issued by an authority in certificate-authority-data (${code}): put the authority of this server there`
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
    return `it does not speak TLS (${code}): check whether the port in server is right`;
  return `the TLS handshake failed (${code})`;
}

/** HTTP for the plugins of clouds: limits, retries, proxies, answers with tokens, and errors that say what to do. */
import type { Agent, IncomingHttpHeaders } from 'node:http';
import * as z from 'zod/mini';
import type { CredentialStatus } from '../../plugin/run-credential-plugin.ts';
import { codeFieldOf } from '../../util/errno.ts';
import { timeOf } from '../../util/jwt.ts';
import { printable } from '../../util/printable.ts';
import { readBeginning } from '../../util/read-beginning.ts';

/** A request to a token service or a metadata server. */
export interface Call {
  readonly url: URL;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly statusCode: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/** Milliseconds for one answer of a token service. */
const serviceMs = 10_000;
/** Milliseconds for one answer of a metadata server, which is on the same machine. */
export const metadataMs = 2_000;
/** Milliseconds after which a call is not repeated: a client gives the plugin 60 s by default. */
const retryMs = 10_000;
const maxTries = 3;
const maxBytes = 1024 * 1024;

/** Sends a request to a token service: over HTTPS, through the proxies of the environment. Throws if there is no answer. */
export async function callService(call: Call): Promise<Answer> {
  if (call.url.protocol !== 'https:')
    throw new Error(`${call.url.origin} must be an https:// URL: it receives secrets`);
  const { Agent, request } = process.getBuiltinModule('node:https');
  return retrying(call, { request, agent: new Agent({ proxyEnv: process.env }), timeoutMs: serviceMs });
}

/** Sends a request to a metadata server: never through a proxy, which would receive the token. Throws if there is no answer. */
export async function callMetadata(call: Call): Promise<Answer> {
  // An import of node:http loads its WebSocket too, which is all of undici.
  const { Agent, request } = process.getBuiltinModule(call.url.protocol === 'https:' ? 'node:https' : 'node:http');
  return retrying(call, { request, agent: new Agent(), timeoutMs: metadataMs });
}

interface Transport {
  readonly request: typeof import('node:http').request;
  readonly agent: Agent;
  readonly timeoutMs: number;
}

async function retrying(call: Call, transport: Transport): Promise<Answer> {
  const began = performance.now();
  for (let tries = 1; ; tries++) {
    const answer = await send(call, transport);
    if (tries === maxTries || !isThrottled(answer) || performance.now() - began > retryMs) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** tries * (0.5 + Math.random())));
  }
}

/** STS throttles with 400, and answers so if it could not reach the issuer of a web identity. */
function isThrottled({ statusCode, text }: Answer): boolean {
  if (statusCode === 429 || statusCode >= 500) return true;
  return statusCode === 400 && /<Code>(?:Throttl\w*|RequestLimitExceeded|IDPCommunicationError)<\/Code>/.test(text);
}

async function send({ url, method = 'GET', headers = {}, body }: Call, transport: Transport): Promise<Answer> {
  const { request, agent, timeoutMs } = transport;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
      const outgoing = request(url, { method, agent, signal, headers: { ...headers, ...length } }, (response) => {
        const { statusCode = 0 } = response;
        readBeginning(response, maxBytes).then((bytes) => {
          resolve({ statusCode, text: bytes.toString(), headers: response.headers });
        }, reject);
      });
      outgoing.on('error', reject);
      // A request that waits for a proxy's tunnel reports neither an error nor a close when its signal aborts.
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      outgoing.on('upgrade', (_response, socket) => {
        socket.destroy();
        reject(Object.assign(new Error(), { code: 'an upgrade that was not asked for' }));
      });
      outgoing.end(body);
    });
  } catch (error) {
    if (signal.aborted) throw new Error(`${url.host} has not answered within ${timeoutMs / 1_000} s`);
    const { code = 'no reason given' } = codeFieldOf(error);
    const trust = /CERT|ISSUER|LEAF_SIGNATURE/.test(code)
      ? ': NODE_EXTRA_CA_CERTS names a file with its authority'
      : '';
    throw new Error(`${url.host} cannot be reached (${code})${trust}`);
  }
}

/** The form of a token request. */
export function form(fields: Readonly<Record<string, string | undefined>>): Pick<Call, 'method' | 'headers' | 'body'> {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.set(name, value);
  return { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `${body}` };
}

/** The JSON of an answer; `undefined` if it is none. */
export function jsonOf({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface Token {
  readonly token: string;
  /** Milliseconds since 1970; `undefined` if the server names none that can be expressed. */
  readonly expiresAt: number | undefined;
}

// Azure's metadata server gives the seconds as text.
const seconds = z.union([z.number(), z.string().check(z.regex(/^\d+$/))]);
const tokenSchema = z.object({ access_token: z.string().check(z.minLength(1)), expires_in: seconds });

/** Asks for a token in the form of OAuth 2.0. `refused` gives the error for an answer without one. */
export async function askForToken(
  call: Call,
  send: (call: Call) => Promise<Answer>,
  refused: (answer: Answer) => Error,
): Promise<Token> {
  const asked = Date.now();
  const answer = await send(call);
  const parsed = tokenSchema.safeParse(jsonOf(answer));
  if (answer.statusCode !== 200 || !parsed.success) throw refused(answer);
  const { access_token: token, expires_in } = parsed.data;
  return { token, expiresAt: timeOf(asked + Number(expires_in) * 1_000) };
}

export function statusOf({ token, expiresAt }: Token): CredentialStatus {
  return { token, ...(expiresAt === undefined ? {} : { expirationTimestamp: new Date(expiresAt) }) };
}

/**
 * The error for an answer that is no success. Of its text only the first line is shown: what follows may repeat what was sent.
 * `advice` is what to do about `code`.
 */
export function refusal(
  { url }: Call,
  { statusCode, headers }: Answer,
  code: string | undefined,
  message: string | undefined,
  advice: string | undefined,
): Error {
  const [line = ''] = (message ?? '').split(/[\r\n]/, 1);
  const said = printable([code, line].filter(Boolean).join(': '), 512);
  const what = statusCode === 429 || statusCode >= 500 ? 'try again later' : advice;
  return new Error(
    [`${url.host} answered ${statusCode}${said === '' ? '' : ` (${said})`}`, what, clockProblem(headers)]
      .filter(Boolean)
      .join('; '),
  );
}

/** Seconds that clocks may differ: token services allow for minutes. */
const maxSkewSeconds = 60;

function clockProblem({ date }: IncomingHttpHeaders): string | undefined {
  const seconds = Math.round((Date.now() - Date.parse(date ?? '')) / 1_000);
  if (!(Math.abs(seconds) > maxSkewSeconds)) return undefined;
  return `this machine's clock is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the server's: correct it`;
}

/** An `https://` URL of the operator. It is not quoted: it may hold a password. */
export function httpsUrl(name: string, text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url;
  throw new Error(`${name} must be an https:// URL without user and password`);
}

/** The base URL of a metadata server from a variable of the operator, or the usual one. */
export function metadataUrl(variable: string, text: string | undefined, usual: string): URL {
  const url = URL.parse(text || usual);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new Error(`${variable} must be an http:// or https:// URL`);
}

/** HTTP for the plugins of clouds: limits, retries, proxies, answers with tokens, and errors that say what to do. */
import type { AgentOptions, IncomingHttpHeaders } from 'node:http';
import * as z from 'zod/mini';
import type { CredentialStatus } from '../../plugin/credential-plugin.ts';
import { hide, withoutSecrets } from '../../plugin/plugin-process.ts';
import { codeFieldOf, isString, tryParseJson } from '../../util/guards.ts';
import { printable } from '../../util/printable.ts';
import { answerTo, type HttpAnswer } from '../response.ts';

/** A request to a token service or a metadata server. */
export interface Call {
  readonly url: URL;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer extends HttpAnswer {
  /** That was asked. */
  readonly url: URL;
}

/** Milliseconds for one answer of a token service. */
const serviceMs = 10_000;
/** Milliseconds for one answer of a metadata server, which is on the same machine. */
const metadataMs = 2_000;
/** Milliseconds after which a call is not repeated: a client gives the plugin 60 s by default. */
const retryMs = 10_000;
const maxTries = 3;
const maxBytes = 1024 * 1024;

/** Sends a request to a token service: over HTTPS, through the proxies of the environment. Throws if there is no answer. */
export async function callService(call: Call): Promise<Answer> {
  if (call.url.protocol !== 'https:')
    throw new Error(`${call.url.origin} must be an https:// URL: it receives secrets`);
  checkProxy();
  const isTransient = (answer: Answer | NoAnswer) =>
    answer instanceof NoAnswer ? passing.test(answer.code) : isThrottled(answer);
  return retrying(call, { agent: { proxyEnv: process.env }, timeoutMs: serviceMs, isTransient });
}

/** Node ignores a proxy that it cannot use, and would connect directly. The URL is not quoted: it may hold a password. */
function checkProxy(): void {
  const name = process.env.https_proxy ? 'https_proxy' : 'HTTPS_PROXY';
  const text = process.env[name];
  if (text && !/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new Error(`${name} must be an http:// or https:// URL, or unset`);
}

/**
 * Sends a request to a metadata server, without a proxy, which would receive the token. Throws if there is no answer. `isPatient` asks
 * again: those of Azure and of GKE may need seconds after the start of a pod.
 */
export async function callMetadata(call: Call, { isPatient = false } = {}): Promise<Answer> {
  const isTransient = (answer: Answer | NoAnswer) =>
    answer instanceof NoAnswer
      ? isPatient
      : isThrottled(answer) || (isPatient && [404, 410].includes(answer.statusCode));
  return retrying(call, { agent: {}, timeoutMs: metadataMs, isTransient });
}

interface Transport {
  readonly agent: AgentOptions;
  readonly timeoutMs: number;
  readonly isTransient: (answer: Answer | NoAnswer) => boolean;
}

/** Of failures that may be over in a moment. */
const passing = /^(?:ECONN\w+|EPIPE|EAI_AGAIN)$/;

class NoAnswer extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

async function retrying(call: Call, transport: Transport): Promise<Answer> {
  const began = performance.now();
  for (let tries = 1; ; tries++) {
    const answer = await send(call, transport);
    if (tries === maxTries || !transport.isTransient(answer) || performance.now() - began > retryMs) {
      if (answer instanceof NoAnswer) throw answer;
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** tries * (0.5 + Math.random())));
  }
}

/** STS throttles with 400, and answers so if it could not reach the issuer of a web identity. */
function isThrottled({ statusCode, text }: Answer): boolean {
  if (statusCode === 429 || statusCode >= 500) return true;
  return statusCode === 400 && /<Code>(?:Throttl\w*|RequestLimitExceeded|IDPCommunicationError)<\/Code>/.test(text);
}

async function send(
  { url, method = 'GET', headers = {}, body }: Call,
  { agent, timeoutMs }: Transport,
): Promise<Answer | NoAnswer> {
  // An import of node:http loads its WebSocket too, which is all of undici.
  const { Agent, request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const outgoing = request(url, { method, agent: new Agent(agent), signal, headers }).end(body);
    return { url, ...(await answerTo(outgoing, signal, maxBytes)) };
  } catch (error) {
    if (signal.aborted) return new NoAnswer(`${url.host} has not answered within ${timeoutMs / 1_000} s`, 'ETIMEDOUT');
    const { code = 'no reason given' } = codeFieldOf(error);
    const trust = /CERT|ISSUER|LEAF_SIGNATURE/.test(code)
      ? ': NODE_EXTRA_CA_CERTS names a file with its authority'
      : '';
    return new NoAnswer(`${url.host} cannot be reached (${code})${trust}`, code);
  }
}

/** The form of a token request. */
export function form(fields: Readonly<Record<string, string>>) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return { method: 'POST', headers, body: `${new URLSearchParams(fields)}` } as const;
}

/** The JSON of an answer; `undefined` if it is not JSON. */
export const jsonOf = ({ text }: Answer): unknown => tryParseJson(text);

export interface Token {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

// Azure's metadata server gives the seconds as text.
const seconds = z.union([z.number(), z.string().check(z.regex(/^\d+$/))]);
/** No cloud gives a token for longer. */
const maxLifeSeconds = 86_400;
const tokenSchema = z.object({ access_token: z.string().check(z.minLength(1)), expires_in: seconds });

/** The token of an answer in the form of OAuth 2.0. It may serve to ask for another one, so messages do not show it. */
export async function tokenOf(asking: Promise<Answer>, advice: Advice): Promise<Token> {
  const asked = Date.now();
  const answer = await asking;
  const parsed = tokenSchema.safeParse(jsonOf(answer));
  if (answer.statusCode !== 200 || !parsed.success) throw refusal(answer, advice);
  const { access_token: token, expires_in } = parsed.data;
  hide(token);
  const lifeSeconds = Math.max(0, Math.min(Number(expires_in), maxLifeSeconds));
  return { token, expiresAt: asked + lifeSeconds * 1_000 };
}

export function statusOf({ token, expiresAt }: Token): CredentialStatus {
  checkEnd('the token', expiresAt);
  return { token, expirationTimestamp: new Date(expiresAt) };
}

/** Throws if what has just been received ends in the past: every server would refuse it. */
export function checkEnd(what: string, expiresAt: number | undefined): void {
  if (expiresAt === undefined || expiresAt > Date.now()) return;
  const time = new Date(expiresAt).toISOString();
  throw new Error(`${what} had expired when it came (${time}): check this machine's clock, and who caches it`);
}

/** What to do; by the code and the message of the answer, if it depends on them. */
type Advice = string | undefined | ((code: string, message: string) => string | undefined);

/** The error for an unsuccessful answer: its code if that is a word, and the first line of its message. More may repeat what was sent. */
export function refusal(answer: Answer, advice?: Advice): Error {
  const { url, statusCode, headers } = answer;
  const { code, message } = reasonOf(answer);
  const word = /^\w{1,64}$/.test(code) ? code : '';
  const [line] = message.split(/[\r\n]/, 1);
  // Cut after its secrets are hidden: the rest of one would not be recognised.
  const said = printable(withoutSecrets([word, line].filter(Boolean).join(': ')), 512);
  const unreadable =
    statusCode === 200 && said === '' ? 'that is not the documented answer: check which server this is' : undefined;
  const own = typeof advice === 'function' ? advice(code, message) : advice;
  const what = statusCode === 429 || statusCode >= 500 ? 'try again later' : (own ?? unreadable);
  return new Error(
    [`${url.host} answered ${statusCode}${said === '' ? '' : ` (${said})`}`, what, clockProblem(headers)]
      .filter(Boolean)
      .join('; '),
  );
}

/** In the forms of OAuth, of Google's other services, of AWS' agents, and of STS, whose answers are XML. */
function reasonOf(answer: Answer): { readonly code: string; readonly message: string } {
  const { error, error_description, code: agent, Code = agent } = Object(jsonOf(answer));
  const { status, message } = Object(error);
  const codes = [error, status, Code, elementOf(answer, 'Code')];
  const code = codes.find(isString) ?? '';
  const messages = [error_description, message, elementOf(answer, 'Message')];
  // The message of this one repeats what was signed, with the session token.
  return { code, message: (code !== 'SignatureDoesNotMatch' && messages.find(isString)) || '' };
}

/** The text of an element in an answer of STS. */
export function elementOf({ text }: Answer, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
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

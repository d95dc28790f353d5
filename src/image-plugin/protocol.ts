/** The protocol of image credential plugins, from the plugin's side: the request comes in on stdin, the answer goes to stdout. */
import { text as readText } from 'node:stream/consumers';
import { z } from 'zod';
import { formatDuration } from '../access/duration.ts';
import { mustBe, schemaProblems } from '../access/schema-problems.ts';
import { ExecInfoError } from '../errors/index.ts';
import { maxAnswerBytes } from '../exec/credential.ts';
import { keyProblem } from '../image-credentials/keyring.ts';
import {
  type CacheKeyType,
  cacheKeyTypes,
  type ImageRequest,
  type Login,
  type ProviderVersion,
  providerVersions,
} from '../image-credentials/protocol.ts';
import { answerWith, hide } from '../plugin/plugin-process.ts';
import { tryParseJson } from '../util/guards.ts';

const requestSchema = z.looseObject({
  kind: z.literal('CredentialProviderRequest', { error: 'must be CredentialProviderRequest' }),
  apiVersion: z.enum(providerVersions, { error: `must be one of ${providerVersions.join(', ')}` }),
  image: z.string({ error: 'must be the name of an image' }).min(1, { error: 'must be the name of an image' }),
  serviceAccountToken: z.string().optional(),
  serviceAccountAnnotations: z.record(z.string(), z.string()).optional(),
});

/** @throws {ExecInfoError} if stdin has no request */
function readRequest(data: string): z.output<typeof requestSchema> {
  const content = tryParseJson(data);
  if (content === undefined) {
    const advice = 'this program is an image credential plugin, and is run by a kubelet or the like';
    throw new ExecInfoError('EXEC_INFO_MISSING', `stdin holds no CredentialProviderRequest: ${advice}`);
  }
  const parsed = requestSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') || 'the request';
  throw new ExecInfoError('EXEC_INFO_INVALID', `stdin: ${field}: ${issue?.message ?? 'is invalid'}`);
}

/** The answer of an image credential plugin. */
export interface ImagePluginAnswer {
  /** Logins by image pattern: `registry.example.dev`, `*.example.dev/team`. Empty or `null` if there are no credentials. */
  readonly auth: Readonly<Record<string, Login>> | null;
  /**
   * What the answer is valid for. `Image`, the default, is always right. With `Registry` it has to contain every login of the
   * image's registry, and with `Global` every login: other images get this answer, and the plugin is not asked again.
   */
  readonly cacheKeyType?: CacheKeyType;
  /**
   * Milliseconds for which it may be cached; 0 for not at all.
   * @default as configured
   */
  readonly cacheDurationMs?: number;
}

const login = { error: 'must be { username, password }, both of them text' };
const text = z.string(mustBe('text'));
const duration = { error: 'must be a number of milliseconds, less than 292 years' };
const answerSchema = z.strictObject(
  {
    auth: z
      .record(z.string(), z.strictObject({ username: text, password: text }, login), {
        error: 'must be an object of { username, password } by pattern of images, or null',
      })
      .nullable(),
    cacheKeyType: z.enum(cacheKeyTypes, { error: `must be one of ${cacheKeyTypes.join(', ')}` }).default('Image'),
    cacheDurationMs: z
      .number(duration)
      .refine((ms) => formatDuration(ms) !== undefined, duration)
      .optional(),
  },
  { error: 'must be an object with auth' },
);
const fields = Object.keys(answerSchema.shape);

/** Returns the answer in the form of the protocol. Throws if a kubelet would refuse it, so that the author of the plugin sees why. */
export function encodeAnswer(apiVersion: ProviderVersion, answer: unknown): object {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw new Error(`the plugin's answer: ${problemOf(parsed.error)}`);
  const { auth, cacheKeyType, cacheDurationMs } = parsed.data;
  const cacheDuration = cacheDurationMs === undefined ? undefined : formatDuration(cacheDurationMs);
  for (const key of Object.keys(auth ?? {})) {
    const problem = keyProblem(key);
    // A kubelet ignores it, and logs that.
    if (problem !== undefined) throw new Error(`the plugin's answer: auth: an entry: its key ${problem}`);
  }
  const response = { kind: 'CredentialProviderResponse', apiVersion, cacheKeyType, cacheDuration, auth };
  const printed = JSON.stringify(response);
  if (Buffer.byteLength(printed) >= maxAnswerBytes) {
    throw new Error(`the plugin's answer: is over ${maxAnswerBytes} bytes, the most that is read`);
  }
  return response;
}

/** Names fields of the answer, and never its values, nor the keys of `auth`: one may hold a password. */
function problemOf(error: z.ZodError): string {
  const known = (path: readonly PropertyKey[]) => (path.length > 0 ? ['username', 'password'] : fields);
  const [{ keys = [], message = 'is wrong' } = {}] = schemaProblems(error, { known });
  return [...keys.map((key, index) => (index === 1 ? 'an entry' : key)), message].join(': ');
}

/**
 * Runs an image credential plugin (KEP-2133): reads the request from stdin, calls `getAnswer`, and answers on stdout in the
 * requested version. A failure is printed to stderr in one line, without anything that looks like a credential, and the process exits
 * with 1. An answer that a kubelet would refuse is a failure. The process exits when
 * everything is written: code after the call does not run.
 *
 * @example
 * await runImageCredentialPlugin(async ({ image }) => ({ auth: { 'registry.example.dev': await login(image) } }));
 */
export async function runImageCredentialPlugin(
  getAnswer: (request: ImageRequest) => Promise<ImagePluginAnswer> | ImagePluginAnswer,
): Promise<never> {
  return answerWith(async () => {
    const { apiVersion, image, serviceAccountToken, serviceAccountAnnotations } = readRequest(
      await readText(process.stdin),
    );
    if (serviceAccountToken) hide(serviceAccountToken);
    return encodeAnswer(apiVersion, await getAnswer({ image, serviceAccountToken, serviceAccountAnnotations }));
  });
}

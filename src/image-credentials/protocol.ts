/** The wire types of KEP-2133: a plugin's request on stdin, and its response on stdout. Pure. */
import { z } from 'zod';
import { parseDuration } from '../access/duration.ts';
import { AnswerFault, logsElsewhere } from '../exec/credential.ts';
import { isObject, tryParseJson } from '../util/guards.ts';

/** The versions of the request and the response. */
export const providerVersions = [
  'credentialprovider.kubelet.k8s.io/v1',
  'credentialprovider.kubelet.k8s.io/v1alpha1',
  'credentialprovider.kubelet.k8s.io/v1beta1',
] as const;
export type ProviderVersion = (typeof providerVersions)[number];

/** What credentials are valid for: one image, its whole registry, or every image of the provider. */
export const cacheKeyTypes = ['Image', 'Registry', 'Global'] as const;
export type CacheKeyType = (typeof cacheKeyTypes)[number];

/** What the client asks a plugin: the credentials for one image. */
export interface ImageRequest {
  /** The repository: with its registry, without tag and digest. */
  readonly image: string;
  /** v1 only. */
  readonly serviceAccountToken?: string | undefined;
  /** v1 only. */
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>> | undefined;
}

export type ImageResponse = Readonly<ReturnType<typeof decodeResponse>>;

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** One line of JSON. Earlier versions know nothing of service accounts. */
export function encodeRequest(apiVersion: ProviderVersion, request: ImageRequest): string {
  const { image, serviceAccountToken, serviceAccountAnnotations = {} } = request;
  const known = apiVersion === 'credentialprovider.kubelet.k8s.io/v1';
  const annotations = Object.entries(serviceAccountAnnotations).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image,
    ...(known && serviceAccountToken ? { serviceAccountToken } : {}),
    ...(known && annotations.length > 0 ? { serviceAccountAnnotations: Object.fromEntries(annotations) } : {}),
  })}\n`;
}

const entrySchema = z
  .strictObject({ username: z.string().nullish(), password: z.string().nullish() })
  .nullish()
  .transform((entry) => ({ username: entry?.username ?? '', password: entry?.password ?? '' }));
const responseSchema = z.strictObject({
  kind: z.literal('CredentialProviderResponse'),
  apiVersion: z.string(),
  cacheKeyType: z.enum(cacheKeyTypes),
  cacheDuration: z
    .string()
    .nullish()
    .transform((text, context) => {
      const ms = typeof text === 'string' ? parseDuration(text) : undefined;
      if (typeof text === 'string' && ms === undefined) context.addIssue('is no duration');
      return ms;
    }),
  auth: z.custom<object>((value) => typeof value === 'object' && !Array.isArray(value)).nullish(),
});

/** Reads a plugin's stdout, as strictly as the kubelet. Throws an `AnswerFault`, which quotes nothing of it. */
export function decodeResponse(stdout: string, apiVersion: ProviderVersion) {
  if (stdout.trim() === '') throw new AnswerFault('ANSWER_EMPTY', 'exited with 0 but printed nothing on stdout');
  const answer = tryParseJson(stdout);
  if (!isObject(answer))
    throw new AnswerFault('ANSWER_UNPARSABLE', `printed something that is not one JSON object${logsElsewhere}`);
  if (Reflect.get(answer, 'apiVersion') !== apiVersion) {
    throw new AnswerFault(
      'ANSWER_WRONG_VERSION',
      `answered in another apiVersion, but is configured for ${apiVersion}`,
    );
  }
  const parsed = responseSchema.safeParse(answer);
  if (!parsed.success) throw fieldFault(parsed.error.issues[0], String(parsed.error.issues[0]?.path[0] ?? ''));
  // Without a duration it is that of the configuration. After a negative one the answer has expired already.
  const { cacheKeyType, cacheDuration: cacheDurationMs } = parsed.data;
  // One after the other: of many wrong entries the first is enough.
  const auth = new Map<string, Login>();
  for (const [key, entry] of Object.entries(parsed.data.auth ?? {})) {
    const login = entrySchema.safeParse(entry);
    // A key may be any text, a secret too.
    if (!login.success) throw fieldFault(login.error.issues[0], 'auth');
    auth.set(key, login.data);
  }
  return { cacheKeyType, cacheDurationMs, auth };
}

function fieldFault(issue: z.core.$ZodIssue | undefined, field: string): AnswerFault {
  const what = issue?.code === 'unrecognized_keys' ? 'fields that are not known' : 'a value that is not allowed';
  return new AnswerFault('ANSWER_FIELD_INVALID', `answered with ${what}${field === '' ? '' : ` in ${field}`}`);
}

import { text as readText } from 'node:stream/consumers';
import { z } from 'zod';
import { ExecInfoError } from '../errors.ts';
import { answerWith, hide } from '../plugin/answer.ts';
import { providerVersions } from './config.ts';
import { encodeAnswer, type ImagePluginAnswer } from './image-plugin-answer.ts';
import type { ImageRequest } from './protocol.ts';

const requestSchema = z.looseObject({
  kind: z.literal('CredentialProviderRequest', { error: 'must be CredentialProviderRequest' }),
  apiVersion: z.enum(providerVersions, { error: `must be one of ${providerVersions.join(', ')}` }),
  image: z.string({ error: 'must be the name of an image' }).min(1, { error: 'must be the name of an image' }),
  serviceAccountToken: z.string().optional(),
  serviceAccountAnnotations: z.record(z.string(), z.string()).optional(),
});

/**
 * Runs an image credential plugin (KEP-2133): reads the request from stdin, calls `getAnswer`, and answers on stdout in the
 * version that was asked for. A failure goes to stderr in one line, without what looks like a credential, and ends the process
 * with the error's own `exitCode` (1 to 255), else with 1. An answer that a kubelet would refuse is a failure. It ends the process
 * when everything has been written, so no code after it runs.
 *
 * @example
 * await runImageCredentialPlugin(async ({ image }) => ({ auth: { 'registry.example.dev': await login(image) } }));
 */
export async function runImageCredentialPlugin(
  getAnswer: (request: ImageRequest) => Promise<ImagePluginAnswer> | ImagePluginAnswer,
): Promise<never> {
  return answerWith('runImageCredentialPlugin', async () => {
    const { apiVersion, image, serviceAccountToken, serviceAccountAnnotations } = readRequest(
      await readText(process.stdin),
    );
    if (serviceAccountToken) hide(serviceAccountToken);
    return encodeAnswer(apiVersion, await getAnswer({ image, serviceAccountToken, serviceAccountAnnotations }));
  });
}

function readRequest(data: string): z.output<typeof requestSchema> {
  let content: unknown;
  try {
    content = JSON.parse(data);
  } catch {
    const advice = 'this program is an image credential plugin, and is run by a kubelet or the like';
    throw new ExecInfoError('EXEC_INFO_MISSING', `stdin holds no CredentialProviderRequest: ${advice}`);
  }
  const parsed = requestSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') || 'the request';
  throw new ExecInfoError('EXEC_INFO_INVALID', `stdin: ${field}: ${issue?.message ?? 'is invalid'}`);
}

/** Reads the request that an image credential plugin gets on stdin. Pure. */
import { z } from 'zod';
import { ExecInfoError } from '../errors/index.ts';
import { providerVersions } from '../image-credentials/config.ts';

const requestSchema = z.looseObject({
  kind: z.literal('CredentialProviderRequest', { error: 'must be CredentialProviderRequest' }),
  apiVersion: z.enum(providerVersions, { error: `must be one of ${providerVersions.join(', ')}` }),
  image: z.string({ error: 'must be the name of an image' }).min(1, { error: 'must be the name of an image' }),
  serviceAccountToken: z.string().optional(),
  serviceAccountAnnotations: z.record(z.string(), z.string()).optional(),
});

/** @throws {ExecInfoError} if stdin has no request */
export function readRequest(data: string): z.output<typeof requestSchema> {
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

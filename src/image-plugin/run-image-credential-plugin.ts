import { text as readText } from 'node:stream/consumers';
import type { ImageRequest } from '../image-credentials/protocol.ts';
import { answerWith, hide } from '../plugin/plugin-process.ts';
import { encodeAnswer, type ImagePluginAnswer, readRequest } from './protocol.ts';

/**
 * Runs an image credential plugin (KEP-2133): reads the request from stdin, calls `getAnswer`, and answers on stdout in the
 * requested version. A failure is printed to stderr in one line, without anything that looks like a credential, and the process exits
 * with the error's own `exitCode` (1 to 255), else with 1. An answer that a kubelet would refuse is a failure. The process exits when
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

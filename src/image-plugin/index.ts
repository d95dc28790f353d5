/**
 * For authors of image credential plugins (KEP-2133): reads the request of the client, and prints the answer.
 *
 * @module clusterprofile-credentials/image-plugin
 */

export { matchImage } from '../image-credentials/keyring.ts';
export type { ImageRequest } from '../image-credentials/protocol.ts';
export { type ImagePluginAnswer, runImageCredentialPlugin } from './protocol.ts';

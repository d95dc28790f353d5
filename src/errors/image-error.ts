import { printable } from '../util/printable.ts';
import type { ImageErrorCode } from './codes.ts';
import { CredentialsError } from './credentials-error.ts';

/** The most of an image's name that a message shows, in bytes: the longest name has 255, with a tag and a digest some 450. */
const longestShownImage = 512;

/** The name of an image cannot be used. */
export class ImageError extends CredentialsError {
  declare readonly name: 'ImageError';
  declare readonly code: ImageErrorCode;
  /** The name as given, without the user and password of a URL. */
  readonly image: string;

  constructor(image: string, message: string) {
    const shown = withoutUser(String(image));
    super('ImageError', 'IMAGE_INVALID', `image "${printable(shown, longestShownImage)}": ${message}`);
    this.image = shown;
  }
}

/** `https://user:password@host` and `user:password@host`; `app:1@sha256:...` has a tag and a digest. */
function withoutUser(image: string): string {
  return image
    .replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1[redacted]@')
    .replace(/^(?!\w+:\/\/)[^/]*:[^/]*@(?![a-z0-9+._-]+:[0-9a-f]+$)/is, '[redacted]@');
}

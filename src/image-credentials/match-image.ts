import { createGlob } from '../access/glob.ts';
import { checkArgument } from '../errors/check-argument.ts';
import { isString } from '../util/guards.ts';
import { type ImageUrl, parseImageUrl } from './image-url.ts';

/**
 * Whether an image matches a pattern of `matchImages`, as in the kubelet (KEP-2133). The ports are the same. The hosts have the same
 * number of parts, and a `*` in a part of the pattern stands for any characters. The image's path begins with the pattern's
 * path, character by character. A pattern or image that is not a URL matches nothing. The time is linear in the length of both.
 *
 * @example
 * matchImage('*.dkr.ecr.*.amazonaws.com', '123.dkr.ecr.us-east-1.amazonaws.com/app'); // true
 * matchImage('registry.io:8080/path', 'registry.io:8080/path-and-more'); // true
 */
export function matchImage(pattern: string, image: string): boolean {
  checkArgument('matchImage', 'pattern', pattern, isString, 'text');
  checkArgument('matchImage', 'image', image, isString, 'text');
  const target = parseImageUrl(image);
  return !('problem' in target) && createMatcher(pattern)(target);
}

/** Reads a pattern once, for many images. */
export function createMatcher(pattern: string): (image: ImageUrl) => boolean {
  const url = parseImageUrl(pattern);
  return 'problem' in url ? () => false : matcherOf(url);
}

/** The matcher of a pattern that has been parsed. */
export function matcherOf({ port, path, parts }: ImageUrl): (image: ImageUrl) => boolean {
  const globs = parts.map(createGlob);
  return (image) =>
    image.port === port &&
    image.parts.length === globs.length &&
    image.path.startsWith(path) &&
    globs.every((glob, index) => glob(image.parts[index] ?? ''));
}

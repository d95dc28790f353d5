import { createGlob } from '../access/glob.ts';
import { checkArgument, isString } from '../argument.ts';
import { type GoUrl, parseGoUrl } from './go-url.ts';

/**
 * Whether an image is one of those that a pattern of `matchImages` describes, as the kubelet has it (KEP-2133): the port is
 * the same, the host has as many parts, in each of which a `*` stands for any characters, and the pattern's path is the
 * beginning of the image's, character by character. A pattern or image that is no URL matches nothing. The time it takes grows
 * with the length of the two, whatever stands in them.
 *
 * @example
 * matchImage('*.dkr.ecr.*.amazonaws.com', '123.dkr.ecr.us-east-1.amazonaws.com/app'); // true
 * matchImage('registry.io:8080/path', 'registry.io:8080/path-and-more'); // true
 */
export function matchImage(pattern: string, image: string): boolean {
  checkArgument('matchImage', 'pattern', pattern, isString, 'text');
  checkArgument('matchImage', 'image', image, isString, 'text');
  const target = parseGoUrl(image);
  return !('problem' in target) && createMatcher(pattern)(target);
}

/** Reads a pattern once, for many images. */
export function createMatcher(pattern: string): (image: GoUrl) => boolean {
  const url = parseGoUrl(pattern);
  return 'problem' in url ? () => false : matcherOf(url);
}

/** The matcher of a pattern that has been parsed. */
export function matcherOf({ port, path, parts }: GoUrl): (image: GoUrl) => boolean {
  // An IPv6 address in brackets has no stars: its zone may hold one that means itself.
  const isAddress = parts[0]?.startsWith('[') ?? false;
  const globs = parts.map((part) => (isAddress ? (text: string) => text === part : createGlob(part)));
  return (image) =>
    image.port === port &&
    image.parts.length === globs.length &&
    image.path.startsWith(path) &&
    globs.every((glob, index) => glob(image.parts[index] ?? ''));
}

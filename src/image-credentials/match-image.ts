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
  const globs = parts.map((part) => (isAddress ? equals(part) : toGlob(part)));
  return (image) =>
    image.port === port &&
    image.parts.length === globs.length &&
    image.path.startsWith(path) &&
    globs.every((glob, index) => glob(image.parts[index] ?? ''));
}

type Glob = (text: string) => boolean;

const equals =
  (expected: string): Glob =>
  (text) =>
    text === expected;

/** The words between the stars have to stand in the text one after the other. */
function toGlob(glob: string): Glob {
  if (!glob.includes('*')) return equals(glob);
  const [first = '', ...rest] = glob.split('*');
  const last = rest.pop() ?? '';
  const finders = rest.filter((word) => word !== '').map(createFinder);
  return (text) => {
    const end = text.length - last.length;
    if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at: number | undefined = first.length;
    for (const find of finders) {
      at = find(text, at, end);
      if (at === undefined) return false;
    }
    return true;
  };
}

/**
 * Finds a word in a part of a text, and gives the place behind it. Knuth, Morris and Pratt's way, which looks at every
 * character once; `indexOf` looks at some of them as often as the word is long.
 */
function createFinder(word: string): (text: string, from: number, end: number) => number | undefined {
  /** How much of the word's beginning stands again at the end of what has been found of it. */
  const again = [0];
  let matched = 0;
  for (let i = 1; i < word.length; i++) {
    while (matched > 0 && word[i] !== word[matched]) matched = again[matched - 1] ?? 0;
    if (word[i] === word[matched]) matched += 1;
    again.push(matched);
  }
  return (text, from, end) => {
    let found = 0;
    for (let i = from; i < end; i++) {
      while (found > 0 && text[i] !== word[found]) found = again[found - 1] ?? 0;
      if (text[i] === word[found]) found += 1;
      if (found === word.length) return i + 1;
    }
    return undefined;
  };
}

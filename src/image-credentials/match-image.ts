import { type GoUrl, parseGoUrl } from './go-url.ts';

/**
 * Whether an image is one of those that a pattern of `matchImages` describes, as the kubelet has it (KEP-2133): the port is
 * the same, the host has as many parts, in each of which a `*` stands for any characters, and the pattern's path is the
 * beginning of the image's, character by character. A pattern or image that is no URL matches nothing.
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
  if ('problem' in url) return () => false;
  const { port, path, parts } = url;
  const globs = parts.map(toMatcher);
  return (image) =>
    image.port === port &&
    image.parts.length === globs.length &&
    image.path.startsWith(path) &&
    globs.every((glob, index) => glob(image.parts[index] ?? ''));
}

/** Go's path.Match for one part of a host: `*`, and what an IPv6 address in brackets is taken for, a class. */
function toMatcher(glob: string): (text: string) => boolean {
  if (!/[*[\]\\]/.test(glob)) return (text) => text === glob;
  const pattern = toRegExp(glob);
  return (text) => pattern?.test(text) ?? false;
}

function toRegExp(glob: string): RegExp | undefined {
  let source = '';
  for (let i = 0; i < glob.length; i++) {
    const character = glob[i] ?? '';
    if (character === '*') source += '[^/]*';
    else if (character === '[') {
      const close = glob.indexOf(']', i + 1);
      // An open class, or an empty one, matches nothing.
      if (close <= i + 1) return undefined;
      const inside = glob.slice(i + 1, close);
      const negated = inside.startsWith('^');
      const members = readClass(negated ? inside.slice(1) : inside);
      if (members === undefined) return undefined;
      source += `[${negated ? '^' : ''}${members}]`;
      i = close;
    } else source += character.replace(/[\\^$.+?()[\]{}|/]/, '\\$&');
  }
  return new RegExp(`^${source}$`, 's');
}

function readClass(inside: string): string | undefined {
  let members = '';
  for (let i = 0; i < inside.length; i++) {
    const low = inside[i] ?? '';
    if (low === '-') return undefined;
    if (inside[i + 1] !== '-') {
      members += escapeInClass(low);
      continue;
    }
    const high = inside[i + 2];
    if (high === undefined || high === '-') return undefined;
    if (low <= high) members += `${escapeInClass(low)}-${escapeInClass(high)}`;
    i += 2;
  }
  return members;
}

function escapeInClass(character: string): string {
  return character.replace(/[\\\]^-]/, '\\$&');
}

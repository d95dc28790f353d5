/** Checks that a request's path stays below another one, however a gateway may read it. */

/** Segments that a path has to begin with, as written. */
export type Segments = readonly string[];

/** How often a path may have been percent-encoded. */
const maxEncodings = 3;

/**
 * Whether a path (with its query, if any) equals a bound, or is below it. It has to begin with the exact segments, and nothing after
 * them may lead out again: no dots, encoded once or more often, no backslash for a slash, no double slash.
 */
export function staysBelow(bounds: readonly Segments[], path: string): boolean {
  const [target = ''] = path.split('?', 1);
  const [beginning, ...segments] = target.split('/');
  return beginning === '' && bounds.some((bound) => isBelow(bound, segments));
}

function isBelow(bound: Segments, segments: Segments): boolean {
  if (bound.length === 0) return true;
  if (!bound.every((segment, index) => segment === segments[index])) return false;
  const rest = decoded(segments.slice(bound.length).join('/'));
  if (rest === undefined) return false;
  let depth = 0;
  for (const segment of rest.split(/[/\\]/)) {
    // Some servers cut off what follows a semicolon, or a query that appears only after decoding, and skip blanks.
    const [name = ''] = segment.replace(/[\s\p{Cc}]/gu, '').split(/[;?#]/, 1);
    if (name === '..') depth -= 1;
    else if (name !== '' && name !== '.') depth += 1;
    if (depth < 0) return false;
  }
  return true;
}

/** `undefined` if the path is encoded too often, or in a way that only hides its content. */
function decoded(text: string): string | undefined {
  let current = text;
  for (let times = 0; times <= maxEncodings; times++) {
    // No character of UTF-8 begins with these bytes; old decoders make dots and slashes of them.
    if (/%c[01]/i.test(current)) return undefined;
    const next = current.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (next === current) return current;
    current = next;
  }
  return undefined;
}

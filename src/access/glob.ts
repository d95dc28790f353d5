/** Whether the whole of a text matches. */
export type Glob = (text: string) => boolean;

/**
 * A pattern in which a `*` stands for any characters. Matching takes time in proportion to the text, however many stars
 * there are: the text may be somebody else's.
 */
export function createGlob(pattern: string): Glob {
  const [first = '', ...between] = pattern.split('*');
  const last = between.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    const end = text.length - last.length;
    let at = first.length;
    if (at > end || !text.startsWith(first) || !text.endsWith(last)) return false;
    // The earliest place of each part leaves most to the next ones, so none is ever looked for twice.
    for (const part of between) {
      const found = text.indexOf(part, at);
      at = found + part.length;
      if (found < 0 || at > end) return false;
    }
    return true;
  };
}

/** Whether the whole text matches. */
export type Glob = (text: string) => boolean;

/** A pattern in which a `*` stands for any characters. Matching a hostile text takes no longer for many stars. */
export function createGlob(pattern: string): Glob {
  const [first = '', ...between] = pattern.split('*');
  const last = between.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    const end = text.length - last.length;
    if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
    // The earliest match of each word leaves most of the text to the next ones, so no backtracking is needed.
    let at = first.length;
    for (const word of between) {
      const found = text.indexOf(word, at);
      if (found < 0 || found + word.length > end) return false;
      at = found + word.length;
    }
    return true;
  };
}

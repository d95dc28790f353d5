/** Whether the whole text matches. */
export type Glob = (text: string) => boolean;

/**
 * A pattern in which a `*` stands for any characters. Matching takes time in proportion to the pattern and the text, whatever
 * their content is: the text may be hostile.
 */
export function createGlob(pattern: string): Glob {
  const [first = '', ...between] = pattern.split('*');
  const last = between.pop();
  if (last === undefined) return (text) => text === pattern;
  const finders = between.filter((word) => word !== '').map(createFinder);
  return (text) => {
    const end = text.length - last.length;
    if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
    // The earliest match of each word leaves most of the text to the next ones, so no backtracking is needed.
    let at: number | undefined = first.length;
    for (const find of finders) {
      at = find(text, at, end);
      if (at === undefined) return false;
    }
    return true;
  };
}

/**
 * Finds a word in a part of a text, and returns the index after it. Knuth, Morris and Pratt's algorithm reads each character once;
 * `indexOf` may read some as often as the word is long.
 */
function createFinder(word: string): (text: string, from: number, end: number) => number | undefined {
  /** The length of the word's prefix that is also a suffix of the part that was found. */
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

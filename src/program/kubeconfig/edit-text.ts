/** Writes the changes of a kubeconfig's lists into its text, so that all other lines stay byte for byte. Pure. */
import { type Document, isCollection, isMap, isPair, isScalar, type Node, type Pair, visit, type YAMLMap } from 'yaml';

/** What changes in a list of a kubeconfig. Items are those of the document that was read. */
export interface ListChanges {
  readonly field: string;
  readonly before: readonly unknown[];
  /** A field of an item, and its new value. */
  readonly updated: ReadonlyMap<unknown, { readonly field: string; readonly value: object }>;
  readonly removed: ReadonlySet<unknown>;
  readonly added: readonly YAMLMap[];
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * `currentContext` is the new one, if it changes. `toText` writes a node as YAML. Returns `undefined` if lists are in brackets, as
 * in JSON, or if something follows the document: that text can only be written anew.
 */
export function editText(
  text: string,
  { contents, directives }: Document,
  lists: readonly ListChanges[],
  currentContext: string | undefined,
  toText: (node: unknown) => string,
): string | undefined {
  if (!isMap(contents) || contents.flow || !contents.range || contents.items.length === 0) return undefined;
  if (columnOf(text, contents.range[0]) !== 0 || directives?.docEnd) return undefined;
  const edits: Edit[] = [];
  const pairOf = (field: string) => contents.items.find(({ key }) => isScalar(key) && key.value === field);
  const newDash = /^(?:clusters|users|contexts):[^\S\n]*\n+([^\S\n]+)- /m.exec(text.replaceAll('\r', ''))?.[1] ?? '';
  let last = '';
  for (const { field, before, updated, removed, added } of lists) {
    const pair = pairOf(field);
    const [first] = before;
    if (!pair) {
      last += `${field}:${itemsText(newDash, added, toText) || ' []'}\n`;
    } else if (first === undefined) {
      if (added.length > 0) edits.push(...fillList(text, pair, itemsText(newDash, added, toText)));
    } else {
      if (!isCollection(pair.value) || pair.value.flow || !pair.value.range) return undefined;
      const column = columnOf(text, pair.value.range[0]);
      for (const item of before) {
        if (!isMap(item) || item.flow || !item.range) {
          if (removed.has(item) || updated.has(item)) return undefined;
          continue;
        }
        const [start] = item.range;
        if (removed.has(item)) {
          const end = nextLine(text, contentEnd(item) ?? start);
          edits.push({ start: lineOfDash(text, start, column), end, text: '' });
        }
        const change = updated.get(item);
        if (change === undefined) continue;
        const changed = item.items.find(({ key }) => isScalar(key) && key.value === change.field);
        if (!changed) return undefined;
        const by = ' '.repeat(columnOf(text, start) + 2);
        edits.push({ ...valueRange(text, changed), text: `\n${by}${indent(toText(change.value), by)}` });
      }
      const end = nextLine(text, contentEnd(before.at(-1)) ?? 0);
      if (added.length > 0) {
        edits.push({ start: end, end, text: `${itemsText(' '.repeat(column), added, toText).slice(1)}\n` });
      } else if (before.every((item) => removed.has(item))) {
        const { start } = valueRange(text, pair);
        edits.push({ start, end: start, text: ' []' });
      }
    }
  }
  if (currentContext !== undefined) {
    const pair = pairOf('current-context');
    const value = toText(currentContext).trimEnd();
    if (!pair) last += `current-context: ${value}\n`;
    else {
      const { start, end } = valueRange(text, pair);
      edits.push({ start, end, text: ` ${value}${gapAt(text, end)}` });
    }
  }
  if (last !== '') edits.push({ start: text.length, end: text.length, text: last });
  return applied(text, edits);
}

/** Lines that begin with a line break, and end without one. */
function itemsText(dash: string, items: readonly YAMLMap[], toText: (node: unknown) => string): string {
  return items.map((item) => `\n${dash}- ${indent(toText(item), `${dash}  `)}`).join('');
}

/** Puts items if there are none: after `users:`, `users: []` or `users: null`. */
function fillList(text: string, pair: Pair, items: string): readonly Edit[] {
  const { start, end } = valueRange(text, pair);
  const line = nextLine(text, end);
  return [
    { start, end, text: gapAt(text, end) },
    { start: line, end: line, text: `${items.slice(1)}\n` },
  ];
}

function applied(text: string, edits: readonly Edit[]): string {
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n';
  let edited = '';
  let at = 0;
  // The sort is stable: what is put at one place stays in its order.
  for (const { start, end, text: put } of edits.toSorted((a, b) => a.start - b.start)) {
    edited += text.slice(at, start);
    const isLine = put.endsWith('\n') && edited !== '' && !edited.endsWith('\n');
    edited += `${isLine ? lineBreak : ''}${put.replaceAll('\n', lineBreak)}`;
    at = end;
  }
  return edited + text.slice(at);
}

const indent = (lines: string, by: string) => lines.trimEnd().replaceAll('\n', `\n${by}`);

const columnOf = (text: string, offset: number) => offset - lineOf(text, offset);

/** A byte order mark does not count as a column. */
function lineOf(text: string, offset: number): number {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return start === 0 && text.startsWith('\ufeff') ? 1 : start;
}

/** The beginning of the line of an item's dash, which may be above the item. */
function lineOfDash(text: string, item: number, column: number): number {
  let line = lineOf(text, item);
  while (line > 0 && text[line + column] !== '-') line = lineOf(text, line - 1);
  return line;
}

/** After the line break; if the text ends, without one too. */
function nextLine(text: string, offset: number): number {
  if (text[offset - 1] === '\n') return offset;
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

/** From the colon to the end of the value. */
function valueRange(text: string, { key, value }: Pair): { readonly start: number; readonly end: number } {
  const start = text.indexOf(':', contentEnd(key) ?? 0) + 1;
  return { start, end: Math.max(contentEnd(value) ?? 0, start) };
}

/** A comment needs a space in front of it. */
const gapAt = (text: string, offset: number) => (text[offset] === '#' ? ' ' : '');

/** The end of the last text that is neither a comment nor space. */
function contentEnd(node: unknown): number | undefined {
  let end: number | undefined;
  visit(node as Node, (_, one) => {
    const isLeaf = isScalar(one) || (isCollection(one) && (one.flow || one.items.length === 0));
    if (!isPair(one) && isLeaf && one.range) end = Math.max(end ?? 0, one.range[1]);
  });
  return end;
}

/** What the program prints: tables, JSON and YAML; and work on many items side by side, whose results come in order. */
import { pMapIterable, pMapStop } from 'p-map';
import stringWidth from 'string-width';
import { Document, visit } from 'yaml';
import { printable } from '../diagnose/index.ts';
import type { Style, Terminal } from './terminal.ts';
import type { Call } from './verb.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
  /** On a terminal. */
  readonly style?: (row: Row) => Style | undefined;
}

interface TableOptions {
  readonly headers: boolean;
  readonly wide: boolean;
  /** Of the table above it, which it continues. */
  readonly widths?: readonly number[];
}

/** The longest text of a cell, in bytes: the content is untrusted. */
const maxCellBytes = 1_024;
const gap = 3;

/** Lines, each with its line break, and the widths of the columns: equal in each line, three blanks apart. */
export function formatTable<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { headers, wide, widths: before = [] }: TableOptions,
): { readonly text: string; readonly widths: readonly number[] } {
  const shown = columns.filter((column) => wide || !column.wide);
  const titles = shown.map(({ title }) => ({ text: title, style: undefined }));
  const cells = rows.map((row) =>
    shown.map(({ value, style }) => ({ text: printable(value(row), maxCellBytes) || '-', style: style?.(row) })),
  );
  const lines = headers ? [titles, ...cells] : cells;
  const widths = shown.map((_, index) =>
    Math.max(before[index] ?? 0, ...lines.map((line) => stringWidth(line[index]?.text ?? ''))),
  );
  const text = lines.map((line) => {
    const parts = line.map(({ text, style }, index) => {
      const isLast = index === line.length - 1;
      const pad = isLast ? '' : ' '.repeat((widths[index] ?? 0) + gap - stringWidth(text));
      return (style === undefined ? text : terminal.paint(style, text)) + pad;
    });
    return `${parts.join('')}\n`;
  });
  return { text: text.join(''), widths };
}

/** What the options of a call say of its table. */
export function tableOptions({ options }: Call): Pick<TableOptions, 'headers' | 'wide'> {
  return { headers: !options.has('no-headers'), wide: options.text('output') === 'wide' };
}

/** `1 cluster`, `2 clusters`. */
export const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Prints what `-o` asks for: JSON or YAML of the data, the names, or else the text. */
export function print(
  { options, terminal }: Call,
  data: object,
  text: () => string,
  names: readonly string[] = [],
): Promise<void> {
  const format = options.text('output');
  if (format === 'json') return terminal.write(`${jsonText(data, 2)}\n`);
  if (format === 'yaml') return terminal.write(yamlText(data));
  return terminal.write(format === 'name' ? names.map((name) => `${name}\n`).join('') : text());
}

/** Characters that a terminal acts on and that JSON and YAML do not escape: C1 controls, directions of writing, line ends. */
const active = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON with such characters as `\u202e`: the same data, and nothing that a terminal acts on. */
export function jsonText(data: object, indent?: number): string {
  // Both halves of a character of more than 16 bits.
  return JSON.stringify(data, null, indent).replace(active, (character) => character.split('').map(escaped).join(''));
}

/** YAML with such characters between double quotes, since no other form has escapes. Not every parser joins halves of characters. */
function yamlText(data: object): string {
  const document = new Document(data, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && node.value.search(active) >= 0) node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).replace(active, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return character.length > 1 ? `\\U${code.padStart(8, '0')}` : escaped(character);
  });
}

/** A character of 16 bits. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Works on some items at once, and yields the results in the items' order. After an abort no work starts, and running work is awaited. */
export function sideBySide<T, R>(
  items: readonly T[],
  atOnce: number,
  signal: AbortSignal,
  work: (item: T, index: number) => Promise<R>,
): AsyncIterable<R> {
  const mapper = (item: T, index: number) => (signal.aborted ? pMapStop : work(item, index));
  // One slow item must not keep those after it from being done.
  return pMapIterable(items, mapper, { concurrency: atOnce, backpressure: Number.POSITIVE_INFINITY });
}

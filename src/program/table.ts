/** Tables as kubectl prints them. Apart from other output, since string-width takes longer to load than the start of most verbs. */
import stringWidth from 'string-width';
import { printable } from '../diagnose/index.ts';
import type { Style, Terminal } from './terminal.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
  /** On a terminal. */
  readonly style?: (row: Row) => Style | undefined;
}

export interface TableOptions {
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
  terminal: Pick<Terminal, 'paint'>,
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

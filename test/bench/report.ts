import { styleText } from 'node:util';

/** One figure, and where there is a peer in the same run, the ratio to it. */
export interface Figure {
  readonly bench: string;
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** `value` divided by the peer's. */
  readonly ratio?: number;
  readonly peer?: string;
}

const figures: Figure[] = [];
const json = process.argv.includes('--json');

export function heading(title: string): void {
  if (!json) console.log(`\n${styleText('bold', title)}`);
}

export function report(figure: Figure): void {
  figures.push(figure);
  if (json) return;
  const { what, value, unit, ratio, peer } = figure;
  const against = ratio === undefined ? '' : `  ${ratio.toFixed(3)} x ${peer ?? ''}`;
  console.log(`  ${what.padEnd(58)} ${format(value).padStart(10)} ${unit.padEnd(12)}${against}`);
}

export function finish(): void {
  if (json) console.log(JSON.stringify({ node: process.version, figures }, null, 2));
}

function format(value: number): string {
  return Number.isInteger(value) ? String(value) : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Milliseconds that some work takes. */
export async function time(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

import { styleText } from 'node:util';

export function heading(title: string): void {
  console.log(`\n${styleText('bold', title)}`);
}

/** Prints one figure, and where there is a peer in the same run, its ratio to the peer's. */
export function report(
  what: string,
  value: number,
  unit: string,
  against?: { readonly ratio: number; readonly peer: string },
): void {
  const compared = against ? `  ${against.ratio.toFixed(3)} x ${against.peer}` : '';
  console.log(`  ${what.padEnd(58)} ${format(value).padStart(10)} ${unit.padEnd(12)}${compared}`);
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

// What a run of the e2e tests has proved: each process notes it, and the run adds it up at its end.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** The file that `record` writes to, in the environment of the run's processes. */
export const ledgerVariable = 'E2E_LEDGER';

/** Notes that something has been done so many times. */
export function record(what: string, count = 1): void {
  const file = process.env[ledgerVariable];
  if (file) appendFileSync(file, `${count} ${what}\n`);
}

/** What has been noted in a file, added up. */
export function totals(file: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  if (!existsSync(file)) return sums;
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const [count = '', ...what] = line.split(' ');
    const key = what.join(' ');
    sums.set(key, (sums.get(key) ?? 0) + Number(count));
  }
  return sums;
}

/** `check --watch`: checks again and again, and prints what has changed. */
import { setTimeout as pause } from 'node:timers/promises';
import { printableLines } from '../../util/printable.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { describe } from '../format-error.ts';
import type { Call } from '../verb.ts';
import { formatSummary } from './report.ts';
import { type ClusterReport, exitCodeOf } from './stages.ts';

/** Checks all clusters, and prints the reports that `isShown` chooses. */
export type CheckAll = (isShown: (report: ClusterReport) => boolean) => Promise<readonly ClusterReport[]>;

/** Runs until the call's signal aborts. Returns the exit code of the last round that came to its end. */
export async function watchClusters(
  { signal, terminal }: Call,
  checkAll: CheckAll,
  { intervalMs, isShownAtFirst }: { intervalMs: number; isShownAtFirst: (report: ClusterReport) => boolean },
): Promise<ExitCode> {
  let before: ReadonlyMap<string, string> | undefined;
  let exitCode: ExitCode = exitCodes.interrupted;
  while (!signal.aborted) {
    const known = before;
    const isChanged = (report: ClusterReport) => known?.get(report.profile) !== stateOf(report);
    try {
      const reports = await checkAll((report) => (known ? isChanged(report) : isShownAtFirst(report)));
      if (signal.aborted) break;
      const now = new Map(reports.map((report) => [report.profile, stateOf(report)]));
      exitCode = exitCodeOf(reports);
      before = now;
      const gone = [...(known?.keys() ?? [])].filter((profile) => !now.has(profile));
      await terminal.write(gone.map((profile) => `${profile} has gone\n`).join(''));
      if (!known || gone.length > 0 || reports.some(isChanged)) {
        await terminal.write(`${new Date().toISOString()} ${formatSummary(reports, reports.length, terminal)}`);
      }
    } catch (error) {
      if (!known) throw error;
      if (signal.aborted) break;
      // The hub may be away for a while.
      const { message } = await describe(error);
      await terminal.say(`${terminal.paint('yellow', 'warning:', terminal.stderr)} ${printableLines(message)}`);
    }
    await pause(intervalMs, undefined, { signal }).catch(() => {});
  }
  return exitCode;
}

/** Messages have times in them, and a plugin may write another stderr each time. */
function stateOf({ stages }: ClusterReport): string {
  return JSON.stringify(stages.map(({ stage, result, code }) => [stage, result, code]));
}

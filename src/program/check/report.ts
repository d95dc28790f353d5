/** What `check` prints: a block of lines for each cluster, and a summary. */
import { printable } from '../../util/printable.ts';
import type { Style, Terminal } from '../terminal.ts';
import { type ClusterReport, failedStage, type Stage, type StageResult, stageNames } from './stages.ts';

const shown: Readonly<Record<StageResult, { readonly word: string; readonly style: Style }>> = {
  ok: { word: 'ok', style: 'green' },
  warning: { word: 'warn', style: 'yellow' },
  failed: { word: 'FAIL', style: 'red' },
  skipped: { word: '-', style: 'dim' },
};

const stageWidth = Math.max(...stageNames.map((name) => name.length));

export function formatReport(report: ClusterReport, terminal: Pick<Terminal, 'paint'>): string {
  const failed = failedStage(report);
  const heading = terminal.paint(failed ? ['bold', 'red'] : 'bold', printable(report.profile, 1_024));
  return `${[heading, ...report.stages.flatMap((stage) => linesOf(stage, terminal))].join('\n')}\n`;
}

function linesOf(stage: Stage, terminal: Pick<Terminal, 'paint'>): readonly string[] {
  const { word, style } = shown[stage.result];
  const time = stage.result === 'skipped' ? '' : formatMs(stage.milliseconds);
  const [first = '', ...more] = stage.message.split('\n');
  const code = stage.code === undefined ? '' : `${stage.code}: `;
  const indent = ' '.repeat(2 + 4 + 2 + stageWidth + 2 + 8 + 2);
  return [
    `  ${terminal.paint(style, word.padEnd(4))}  ${stage.stage.padEnd(stageWidth)}  ${time.padStart(8)}  ${code}${first}`,
    ...more.map((line) => `${indent}${line}`),
    ...(stage.hint === undefined ? [] : [`${indent}${stage.hint}`]),
    ...stage.warnings.map((warning) => `${indent}${terminal.paint('yellow', 'warning:')} ${warning}`),
  ];
}

/** `3 clusters: 1 ok, 2 failed (plugin 1, connection 1)`. */
export function formatSummary(
  reports: readonly ClusterReport[],
  asked: number,
  terminal: Pick<Terminal, 'paint'>,
): string {
  const failed = Map.groupBy(
    reports.flatMap((report) => failedStage(report)?.stage ?? []),
    (stage) => stage,
  );
  const count = [...failed.values()].reduce((sum, stages) => sum + stages.length, 0);
  const kinds = stageNames.flatMap((name) => (failed.has(name) ? [`${name} ${failed.get(name)?.length}`] : []));
  const warned = reports.filter((report) => !failedStage(report) && report.stages.some(hasWarnings)).length;
  const parts = [
    `${reports.length - count} ok${warned > 0 ? ` (${warned} with warnings)` : ''}`,
    ...(count > 0 ? [`${terminal.paint('red', `${count} failed`)} (${kinds.join(', ')})`] : []),
    ...(asked > reports.length ? [`${asked - reports.length} not checked`] : []),
  ];
  return `${asked} ${asked === 1 ? 'cluster' : 'clusters'}: ${parts.join(', ')}\n`;
}

const hasWarnings = ({ warnings }: Stage) => warnings.length > 0;

function formatMs(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

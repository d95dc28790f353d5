/** What `check` prints: its progress in one line, a block of lines for each cluster, and a summary. */
import { clearLine, cursorTo } from 'node:readline';
import {
  type ClusterReport,
  failedStage,
  printable,
  type Right,
  type Stage,
  type StageName,
  type StageResult,
  stageNames,
} from '../../diagnose/index.ts';
import { type ExitCode, earliest, exitCodes } from '../failure.ts';
import { type Column, counted, formatTable, tableOptions } from '../table.ts';
import type { Style, Terminal } from '../terminal.ts';
import type { Call } from '../verb.ts';

const shown: Readonly<Record<StageResult, { readonly word: string; readonly style: Style }>> = {
  ok: { word: 'ok', style: 'green' },
  warning: { word: 'warn', style: 'yellow' },
  failed: { word: 'FAIL', style: 'red' },
  skipped: { word: '-', style: 'dim' },
};

const stageWidth = Math.max(...stageNames.map((name) => name.length));

export function formatReport(report: ClusterReport, terminal: Terminal): string {
  const failed = failedStage(report);
  const heading = terminal.paint(failed ? ['bold', 'red'] : 'bold', printable(report.profile, 1_024));
  return `${[heading, ...report.stages.flatMap((stage) => linesOf(stage, terminal))].join('\n')}\n`;
}

function linesOf(stage: Stage, terminal: Terminal): readonly string[] {
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
export function formatSummary(reports: readonly ClusterReport[], asked: number, terminal: Terminal): string {
  const failed = reports.flatMap((report) => failedStage(report)?.stage ?? []);
  const kinds = stageNames.flatMap((name) => {
    const count = failed.filter((stage) => stage === name).length;
    return count === 0 ? [] : `${name} ${count}`;
  });
  const warned = reports.filter((report) => !failedStage(report) && report.stages.some(hasWarnings)).length;
  const parts = [
    `${reports.length - failed.length} ok${warned > 0 ? ` (${warned} with warnings)` : ''}`,
    ...(failed.length > 0 ? [`${terminal.paint('red', `${failed.length} failed`)} (${kinds.join(', ')})`] : []),
    ...(asked > reports.length ? [`${asked - reports.length} not checked`] : []),
  ];
  return `${counted(asked, 'cluster')}: ${parts.join(', ')}\n`;
}

const mostNamed = 3;

/**
 * A line for each cause, if clusters share one: `12 x TLS_UNTRUSTED: ...`. Of a code it is the message of the first cluster; causes without
 * one are the same if their messages differ in addresses and numbers alone. Empty if each cluster has a cause of its own.
 */
export function formatCauses(reports: readonly ClusterReport[], terminal: Terminal): string {
  const failed = reports.flatMap((report) => {
    const stage = failedStage(report);
    return stage ? [{ profile: report.profile, stage }] : [];
  });
  const causes = [...Map.groupBy(failed, ({ stage }) => causeOf(stage)).values()].sort((a, b) => b.length - a.length);
  if (causes.length === failed.length) return '';
  const lines = causes.map((same) => {
    const [{ code, message = '' } = {}] = same.map(({ stage }) => stage);
    const [first = ''] = message.split('\n');
    const names = same.slice(0, mostNamed).map(({ profile }) => printable(profile, 256));
    const more = same.length > mostNamed ? ` and ${same.length - mostNamed} more` : '';
    const count = terminal.paint('red', `${same.length} x`.padStart(6));
    return `${count} ${code === undefined ? '' : `${code}: `}${first} (${names.join(', ')}${more})\n`;
  });
  return lines.join('');
}

function causeOf({ stage, code, message }: Stage): string {
  return `${stage} ${code ?? message.replace(/https?:\/\/\S+|\S*\d\S*/g, '#')}`;
}

/** `-o wide`: a line for each cluster, with a column for each right of `--can-i`. */
export function formatWide(reports: readonly ClusterReport[], rights: readonly Right[], call: Call): string {
  const columns: readonly Column<ClusterReport>[] = [
    { title: 'CLUSTER', value: ({ profile }) => profile },
    {
      title: 'RESULT',
      value: (report) => failedStage(report)?.stage ?? (report.stages.some(hasWarnings) ? 'warning' : 'ok'),
      style: (report) => (failedStage(report) ? 'red' : report.stages.some(hasWarnings) ? 'yellow' : 'green'),
    },
    ...rights.map(
      ({ text }): Column<ClusterReport> => ({
        title: text.toUpperCase(),
        value: (report) => answerTo(report, text) ?? '?',
        style: (report) => (answerTo(report, text) === 'yes' ? 'green' : 'red'),
      }),
    ),
    {
      title: 'CAUSE',
      value: (report) => {
        const { code, message = '' } = failedStage(report) ?? {};
        return code ?? message.split('\n')[0] ?? '';
      },
    },
  ];
  return formatTable(call.terminal, columns, reports, tableOptions(call)).text;
}

/** `undefined` if the check did not come that far. */
function answerTo({ stages }: ClusterReport, right: string): 'yes' | 'no' | undefined {
  const decision = stages.flatMap(({ rights = [] }) => rights).find((one) => one.right === right);
  return decision && (decision.isAllowed ? 'yes' : 'no');
}

const hasWarnings = ({ warnings }: Stage) => warnings.length > 0;

function formatMs(ms: number): string {
  return ms < 1_000 ? `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export class Progress {
  readonly #terminal: Terminal;
  readonly #asked: number;
  readonly #isShown: boolean;
  readonly #underWay = new Map<string, StageName>();
  #done = 0;
  #failed = 0;

  /** `quiet` if a plugin may talk on the terminal: nothing is drawn over its questions. */
  constructor(terminal: Terminal, asked: number, quiet: boolean) {
    this.#terminal = terminal;
    this.#asked = asked;
    this.#isShown = terminal.stderr.isTTY === true && !quiet;
  }

  at(profile: string, stage: StageName): void {
    this.#underWay.set(profile, stage);
    this.#show();
  }

  /** A cluster is done: prints its block above the progress line. */
  async done(report: ClusterReport, text: string): Promise<void> {
    this.#underWay.delete(report.profile);
    this.#done += 1;
    if (failedStage(report)) this.#failed += 1;
    this.end();
    await this.#terminal.write(text);
    this.#show();
  }

  end(): void {
    if (!this.#isShown) return;
    cursorTo(this.#terminal.stderr, 0);
    clearLine(this.#terminal.stderr, 0);
  }

  #show(): void {
    if (!this.#isShown) return;
    this.end();
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : '';
    const underWay = [...this.#underWay].map(([profile, stage]) => `${printable(profile, 256)} (${stage})`).join(', ');
    const { columns } = this.#terminal.stderr;
    // A line that is wrapped could not be cleared. Some terminals say that they are 0 wide.
    this.#terminal.stderr.write(
      `${this.#done} of ${this.#asked} checked${failed}: ${underWay}`.slice(0, (columns || 80) - 1),
    );
  }
}

export function exitCodeOf(reports: readonly ClusterReport[]): ExitCode {
  return earliest(reports.map((report) => exitCodes[failedStage(report)?.stage ?? 'ok']));
}

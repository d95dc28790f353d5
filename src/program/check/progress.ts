/** The progress of `check` on a terminal, in one line: how many clusters are done, and which are in progress. */
import { clearLine, cursorTo } from 'node:readline';
import { printable } from '../../util/printable.ts';
import type { Terminal } from '../terminal.ts';
import { type ClusterReport, failedStage, type StageName } from './stages.ts';

export class Progress {
  readonly #terminal: Terminal;
  readonly #asked: number;
  readonly #isShown: boolean;
  readonly #underWay = new Map<string, StageName>();
  #done = 0;
  #failed = 0;

  /** `quiet` where a plugin may talk on the terminal: nothing is drawn over its questions. */
  constructor(terminal: Terminal, asked: number, quiet: boolean) {
    this.#terminal = terminal;
    this.#asked = asked;
    this.#isShown = terminal.stderr.isTTY === true && !quiet;
  }

  at(profile: string, stage: StageName): void {
    this.#underWay.set(profile, stage);
    this.#show();
  }

  /** A cluster is done, and its block is printed above what is under way. */
  async done(report: ClusterReport, text: string): Promise<void> {
    this.#underWay.delete(report.profile);
    this.#done += 1;
    if (failedStage(report)) this.#failed += 1;
    this.end();
    await this.#terminal.write(text);
    this.#show();
  }

  /** Clears the line. */
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

/** The progress of `check` on a terminal: how many clusters are done, and which are in progress. */
import { createLogUpdate } from 'log-update';
import type { Terminal } from '../terminal.ts';
import type { ClusterReport, StageName } from './stages.ts';
import { failedStage } from './stages.ts';

/** Lines of clusters under way; the rest is counted. */
const mostShown = 8;

export class Progress {
  readonly #terminal: Terminal;
  readonly #asked: number;
  readonly #underWay = new Map<string, StageName>();
  readonly #draw: ReturnType<typeof createLogUpdate> | undefined;
  #done = 0;
  #failed = 0;

  /** `quiet` where a plugin may talk on the terminal: nothing is drawn over its questions. */
  constructor(terminal: Terminal, asked: number, quiet: boolean) {
    this.#terminal = terminal;
    this.#asked = asked;
    const { stderr } = terminal;
    // log-update takes a stream of a process; this is one.
    if (stderr.isTTY && !quiet) this.#draw = createLogUpdate(stderr as NodeJS.WriteStream);
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
    this.#draw?.clear();
    await this.#terminal.write(text);
    this.#show();
  }

  /** Clears the progress, and shows the cursor again. */
  end(): void {
    this.#draw?.clear();
    this.#draw?.done();
  }

  #show(): void {
    if (!this.#draw) return;
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : '';
    const lines = [...this.#underWay].slice(0, mostShown).map(([profile, stage]) => `  ${profile}: ${stage}`);
    const more = this.#underWay.size - lines.length;
    this.#draw(
      [`${this.#done} of ${this.#asked} checked${failed}`, ...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join(
        '\n',
      ),
    );
  }
}

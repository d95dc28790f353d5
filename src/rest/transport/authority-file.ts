import { readFile } from 'node:fs/promises';
import { authorityProblem } from '../../access/cluster.ts';
import { rereadMs } from '../../exec/static-credential-source.ts';
import { Cooldown } from '../../util/cooldown.ts';
import { errnoOf } from '../../util/errno.ts';
import type { ClusterLog } from './cluster-log.ts';

/**
 * The file of a cluster's certificate authority. It is read again from time to time, as client-go does it, so that an authority can
 * be replaced while the process runs.
 */
export class AuthorityFile {
  readonly path: string;
  readonly #clock: () => number;
  /** Base64 of PEM. */
  #data: string;
  #reading = false;
  readonly #fresh = new Cooldown();

  /** `data` is what was read of it just now: base64 of PEM. */
  constructor(path: string, data: string, clock: () => number) {
    this.path = path;
    this.#data = data;
    this.#clock = clock;
    this.#fresh.set(clock(), rereadMs);
  }

  /** What was read last: base64 of PEM. After a minute the file is read again in the background. */
  current(log: ClusterLog): string {
    if (!this.#reading && this.#fresh.left(this.#clock()) === 0) {
      this.#reading = true;
      this.#read().then((problem) => {
        this.#reading = false;
        this.#fresh.set(this.#clock(), rereadMs);
        log.authorityRead(problem && `certificate-authority: ${problem}; what was read before serves on`);
      });
    }
    return this.#data;
  }

  /** Returns the problem with the file, or `undefined`. Never rejects. */
  async #read(): Promise<string | undefined> {
    try {
      const data = (await readFile(this.path)).toString('base64');
      const problem = authorityProblem(data);
      if (problem !== undefined) return `${this.path} ${problem}`;
      // Equal ones stay one text, so that they are compared fast.
      if (data !== this.#data) this.#data = data;
      return undefined;
    } catch (error) {
      return `${this.path} cannot be read (${errnoOf(error)}): correct the path, or mount the file`;
    }
  }
}

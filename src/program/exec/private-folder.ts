/** A folder for this process only. It is removed when the process ends, except after SIGKILL. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class PrivateFolder {
  readonly #path: string;
  readonly #removeNow = () => rmSync(this.#path, { recursive: true, force: true });

  constructor() {
    // mkdtemp makes it readable for its owner only.
    this.#path = mkdtempSync(join(tmpdir(), 'clusterprofile-'));
    process.once('exit', this.#removeNow);
  }

  /** Writes a file that only its owner reads, and gives its path. `name` may have folders in it. */
  write(name: string, text: string): string {
    const path = join(this.#path, name);
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  remove(): void {
    process.off('exit', this.#removeNow);
    this.#removeNow();
  }
}

/** Files for this process only, and for those that it starts. */
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoOf } from '../diagnose/index.ts';
import { Failure } from './failure.ts';

/** It is removed when the process ends, except after SIGKILL. */
export class PrivateFolder {
  readonly #path: string;
  readonly #removeNow = () => rmSync(this.#path, { recursive: true, force: true });

  constructor() {
    // mkdtemp makes it readable for its owner only.
    try {
      this.#path = mkdtempSync(join(tmpdir(), 'clusterprofile-'));
    } catch (error) {
      // As in a container whose file system is read-only.
      const hint = 'set TMPDIR to a folder that this user may write to';
      throw Failure.configuration(`a temporary folder cannot be made in ${tmpdir()} (${errnoOf(error)})`, hint);
    }
    process.once('exit', this.#removeNow);
  }

  /** A file that only its owner reads. Gives its path. `name` may have folders in it. */
  write(name: string, text: string): string {
    const path = join(this.#path, name);
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /**
   * A file that is gone when this process ends, also by SIGKILL: it has no name, and children open it by this process's descriptor.
   * Other systems than Linux have no path for that, and get a file as the others are.
   */
  writeSecret(name: string, text: string): string {
    if (process.platform !== 'linux') return this.write(name, text);
    const path = this.write(name, '');
    const descriptor = openSync(path, 'r+');
    rmSync(path);
    try {
      writeSync(descriptor, text);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    return `/proc/${process.pid}/fd/${descriptor}`;
  }

  remove(): void {
    process.off('exit', this.#removeNow);
    this.#removeNow();
  }
}

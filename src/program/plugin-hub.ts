/**
 * Leads the plugins of this call to the hub that the call uses. They read `KUBECONFIG` and its current context, as Go's secretreader does,
 * and know nothing of `--kubeconfig` and `--context`: without this the Secret of another hub would go to a cluster of this one.
 */
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';

export interface PluginHub {
  /** The files that name it; none for the service account of a pod. */
  readonly files: readonly string[];
  readonly context: string;
  /** What was read from a pipe, which cannot be read again. */
  readonly text?: string | undefined;
}

let folder: PrivateFolder | undefined;

/**
 * Sets `KUBECONFIG` for the plugins, and returns the files of the hub that it names. The first of several files decides the current
 * context: one with nothing else in it holds no credential. It also keeps the hub of a long call if the current context changes.
 */
export function leadPluginsTo({ files, context, text }: PluginHub): readonly string[] {
  if (files.length === 0 && text === undefined) return files;
  folder ??= new PrivateFolder();
  const first = folder.write(
    'context',
    JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': context }),
  );
  const others = text === undefined ? files.map((file) => resolve(file)) : [folder.writeSecret('kubeconfig', text)];
  process.env.KUBECONFIG = [first, ...others].join(delimiter);
  return others;
}

/** Whether a path of KUBECONFIG is the user's, and not the file that a call of this program has put in front. */
export const isOfUser = (path: string): boolean => !/\/clusterprofile-[^/]+\/context$/.test(path);

/** A folder for this process only. It is removed when the process ends, except after SIGKILL. */
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

  /**
   * Writes a file that is gone when this process ends, also by SIGKILL: it has no name, and children open it by this process's descriptor.
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

/**
 * Leads the plugins of this call to the hub that the call uses. They read `KUBECONFIG` and its current context, as Go's secretreader does,
 * and know nothing of `--kubeconfig` and `--context`: without this the Secret of another hub would go to a cluster of this one.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { isReadOnce, kubeconfigPaths, readSource } from './input.ts';

export interface PluginHub {
  /** The files that name it; none for the service account of a pod. */
  readonly files: readonly string[];
  /** `undefined`: the current context of the files. */
  readonly context?: string | undefined;
  /** What was read from a pipe, which cannot be read again. */
  readonly text?: string | undefined;
}

let folder: PrivateFolder | undefined;

/**
 * Sets `KUBECONFIG` for the plugins, and returns the files of the hub that it names. The first of several files decides the current context: a file with nothing else in it holds no
 * credential. It goes with this process; so does the copy of a pipe.
 */
export function leadPluginsTo({ files, context, text }: PluginHub): readonly string[] {
  if (files.length === 0 && text === undefined) return files;
  folder ??= new PrivateFolder();
  const first =
    context === undefined
      ? []
      : [folder.write('context', JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': context }))];
  const others = text === undefined ? files.map((file) => resolve(file)) : [folder.write('kubeconfig', text)];
  process.env.KUBECONFIG = [...first, ...others].join(delimiter);
  return others;
}

/** The same for the hub that options name, where the call itself reads files. */
export async function leadPluginsByOptions(
  kubeconfig: string | undefined,
  context: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const isPipe = kubeconfig !== undefined && isReadOnce(kubeconfig);
  const text = isPipe ? await readSource(kubeconfig, signal) : undefined;
  leadPluginsTo({ files: kubeconfigPaths(kubeconfig), context, text });
}

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

  remove(): void {
    process.off('exit', this.#removeNow);
    this.#removeNow();
  }
}

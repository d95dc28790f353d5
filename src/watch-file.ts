import { unwatchFile, watchFile } from 'node:fs';

/** Milliseconds between looks at a file. */
const lookMs = 1_000;

/**
 * Tells when a file may have changed: edited in place, replaced by rename, or by the swap of a symbolic link above it, as a
 * ConfigMap's mount does it. Looks instead of listening, which sees all of these on every file system; keeps no process alive.
 */
export function watchForChanges(path: string, changed: () => void): () => void {
  watchFile(path, { persistent: false, interval: lookMs }, changed);
  // What changed after the caller read it, and before the first look, would be taken for how it has always been.
  const first = setTimeout(changed, lookMs).unref();
  return () => {
    clearTimeout(first);
    unwatchFile(path, changed);
  };
}

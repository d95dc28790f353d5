/** Polls the files of plugins that failed, so that a repaired one is tried at once. */
import { type Stats, unwatchFile, watchFile } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

const pollMs = 1_000;

/**
 * Calls `changed` when the file of a command may have been changed, created or replaced. Returns the function that stops it. Keeps no
 * process alive.
 */
export function watchCommand(command: string, changed: () => void): () => void {
  // A function of its own for each call: the same callback may be given twice.
  const look = (now: Stats, before: Stats) => {
    // Node calls it once for a file that does not exist, too.
    if (now.ino !== before.ino || now.mtimeMs !== before.mtimeMs || now.ctimeMs !== before.ctimeMs) changed();
  };
  const paths = candidates(command);
  for (const path of paths) {
    // Thousands of clusters may wait for one file: Node polls it once for all of them.
    watchFile(path, { persistent: false, interval: pollMs }, look).setMaxListeners(0);
  }
  return () => {
    for (const path of paths) unwatchFile(path, look);
  };
}

/** Where the file of a command is, or could be created. */
function candidates(command: string): readonly string[] {
  if (command.includes('/')) return [resolve(command)];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  return [...new Set(folders)].map((folder) => join(folder, command));
}

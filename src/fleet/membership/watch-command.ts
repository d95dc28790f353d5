/** Looks at the files of plugins that failed, so that a repaired one is tried at once. */
import { type Stats, unwatchFile, watchFile } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/** Milliseconds between looks. */
const lookMs = 1_000;

/** Tells when a command's file may have changed, been put there or replaced. Returns what ends it. Keeps no process alive. */
export function watchCommand(command: string, changed: () => void): () => void {
  // Called once for a file that is not there, too.
  const look = (now: Stats, before: Stats) => {
    if (now.ino !== before.ino || now.mtimeMs !== before.mtimeMs || now.ctimeMs !== before.ctimeMs) changed();
  };
  const paths = candidates(command);
  for (const path of paths) watchFile(path, { persistent: false, interval: lookMs }, look);
  return () => {
    for (const path of paths) unwatchFile(path, look);
  };
}

/** Where a command's file is, or could come to be. */
function candidates(command: string): readonly string[] {
  if (command.includes('/')) return [resolve(command)];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, command));
}

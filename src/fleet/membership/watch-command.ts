/** Looks at the files of plugins that failed, so that a repaired one is tried at once. */
import { type Stats, unwatchFile, watchFile } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

/** Milliseconds between looks. */
const lookMs = 1_000;

/** By path, who wants to know. Thousands of clusters may wait for one file. */
const watched = new Map<string, Watched>();

interface Watched {
  readonly listeners: Set<() => void>;
  readonly look: (now: Stats, before: Stats) => void;
}

/** Tells when a command's file may have changed, been put there or replaced. Returns what ends it. Keeps no process alive. */
export function watchCommand(command: string, changed: () => void): () => void {
  // One of its own for each call: the same function may be given twice.
  const listener = () => changed();
  const paths = candidates(command);
  for (const path of paths) watch(path).listeners.add(listener);
  return () => {
    for (const path of paths) leave(path, listener);
  };
}

function watch(path: string): Watched {
  const known = watched.get(path);
  if (known) return known;
  const listeners = new Set<() => void>();
  // Called once for a file that is not there, too.
  const look = (now: Stats, before: Stats) => {
    if (now.ino === before.ino && now.mtimeMs === before.mtimeMs && now.ctimeMs === before.ctimeMs) return;
    for (const listener of [...listeners]) listener();
  };
  watchFile(path, { persistent: false, interval: lookMs }, look);
  const made = { listeners, look };
  watched.set(path, made);
  return made;
}

function leave(path: string, listener: () => void): void {
  const entry = watched.get(path);
  if (!entry?.listeners.delete(listener) || entry.listeners.size > 0) return;
  unwatchFile(path, entry.look);
  watched.delete(path);
}

/** Where a command's file is, or could come to be. */
function candidates(command: string): readonly string[] {
  if (command.includes('/')) return [resolve(command)];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  return [...new Set(folders)].map((folder) => join(folder, command));
}

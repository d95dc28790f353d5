/** Keeps a kubeconfig as the hub is, for `kubeconfig --watch`. */
import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../util/backoff.ts';
import { printableLines } from '../../util/printable.ts';
import { Failure } from '../failure.ts';
import type { Profile } from '../profiles.ts';
import type { Call } from '../verb.ts';
import { type ProfileChange, watchProfiles } from '../watch-profiles.ts';

/** Milliseconds in which changes are collected before the file is written. */
const debounceMs = 500;

/**
 * Calls `write` after changes for which `apply` returns `true`. A write that fails with a `Failure` is said, and tried again. Runs until
 * the call's signal aborts.
 */
export async function keepFile(
  call: Call,
  known: readonly Profile[],
  apply: (change: ProfileChange) => boolean,
  write: () => Promise<void>,
): Promise<void> {
  const { signal, terminal } = call;
  const broken = Promise.withResolvers<never>();
  let isStale = false;
  let isWriting = false;
  const writeSoon = async () => {
    isWriting = true;
    for (let failures = 0; isStale; ) {
      await pause(failures === 0 ? debounceMs : backoffMs(failures), undefined, { signal });
      isStale = false;
      try {
        await write();
        failures = 0;
      } catch (error) {
        if (!(error instanceof Failure) || signal.aborted) throw error;
        isStale = true;
        failures++;
        const label = terminal.paint('yellow', 'warning:', terminal.stderr);
        await terminal.say(`${label} ${printableLines(error.message)}; it is tried again`);
      }
    }
    isWriting = false;
  };
  const watch = async () => {
    for await (const change of watchProfiles(call, known)) {
      if (!apply(change)) continue;
      isStale = true;
      if (!isWriting) writeSoon().catch(broken.reject);
    }
  };
  await Promise.race([watch(), broken.promise]);
}

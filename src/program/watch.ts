/** What `--watch` does: rounds, or changes of the ClusterProfiles on the hub, by which a file is kept up to date. */
import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs, clusterProfileKind, type FleetProfile, profileName, watchResource } from '../diagnose/index.ts';
import { Failure } from './failure.ts';
import { describe } from './format-error.ts';
import { openHub } from './hub.ts';
import { askedNames, homeOf, isMeant, type Profile, selectorsOf } from './profiles.ts';
import type { Call } from './verb.ts';

/** Runs until the call's signal aborts. A round that fails is warned of, and repeated after the interval, unless it is the first. */
export async function repeat(
  { signal, terminal }: Call,
  intervalMs: number,
  round: () => Promise<void>,
): Promise<void> {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      await round();
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst) throw error;
      // The hub may be away for a while.
      await terminal.warn(describe(error).message);
    }
    await pause(intervalMs, undefined, { signal }).catch(() => {});
  }
}

export interface ProfileChange {
  readonly profile: Profile;
  /** It was deleted: `profile` is its last state. */
  readonly isGone: boolean;
}

/** Those after `known`, until the call's signal aborts. Prints problems to stderr, and retries. */
export async function* profileChanges(call: Call, known: readonly Profile[]): AsyncGenerator<ProfileChange, void> {
  const { signal, terminal } = call;
  const hub = await openHub(call);
  const home = await homeOf(call);
  const asked = askedNames(call, home);
  // Names may be in several namespaces.
  const namespace = asked.every((one) => one.namespace === home) ? home : undefined;
  const isAsked = (profile: Profile) => asked.length === 0 || asked.some((one) => isMeant(one, profile));
  const warn = (message: string) => void terminal.warn(message);
  const resource = { ...clusterProfileKind, ...(namespace === undefined ? {} : { namespace }), ...selectorsOf(call) };
  const last = new Map(known.map((profile) => [profileName(profile), profile]));
  let listed: Set<string> | undefined;
  for await (const events of watchResource<FleetProfile>(hub.client, resource, warn, signal)) {
    for (const event of events) {
      if (event.type === 'Init') listed = new Set();
      else if (event.type === 'InitDone') {
        // What is missing from a new list was deleted while the watch was interrupted.
        for (const [name, profile] of last) {
          if (listed?.has(name)) continue;
          last.delete(name);
          yield { profile, isGone: true };
        }
        listed = undefined;
      } else if (isAsked(event.object)) {
        const name = profileName(event.object);
        listed?.add(name);
        const isGone = event.type === 'Delete';
        const before = last.get(name)?.metadata?.resourceVersion;
        if (isGone) last.delete(name);
        else last.set(name, event.object);
        if (isGone || before !== event.object.metadata.resourceVersion) yield { profile: event.object, isGone };
      }
    }
  }
}

/** Milliseconds in which changes are collected before the file is written. */
const debounceMs = 500;

/** Calls `write` after changes for which `apply` returns `true`, until the call's signal aborts. If that fails with a `Failure`, it is tried again. */
export async function keepFile(
  call: Call,
  known: readonly Profile[],
  apply: (change: ProfileChange) => boolean,
  write: () => Promise<void>,
): Promise<void> {
  const { signal, terminal } = call;
  let changed = Promise.withResolvers<void>();
  const watch = async () => {
    for await (const change of profileChanges(call, known)) if (apply(change)) changed.resolve();
  };
  const writeChanges = async (): Promise<never> => {
    for (let failures = 0; ; ) {
      await changed.promise;
      await pause(failures === 0 ? debounceMs : backoffMs(failures), undefined, { signal });
      changed = Promise.withResolvers();
      try {
        await write();
        failures = 0;
      } catch (error) {
        if (!(error instanceof Failure) || signal.aborted) throw error;
        changed.resolve();
        failures++;
        await terminal.warn(`${error.message}; it is tried again`);
      }
    }
  };
  await Promise.race([watch(), writeChanges()]);
}

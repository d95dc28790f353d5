/** The version of its server that a cache has, and who waits for a newer one. */
import { checkArgument } from '../../errors/check-argument.ts';
import { abortable } from '../../util/abortable.ts';
import { isOlder } from '../reflect/events.ts';

/** Whether a version can be compared with others. */
export const isVersion = (value: unknown): boolean => typeof value === 'string' && /^\d+$/.test(value);

/** @throws {ConfigurationError} `OPTION_INVALID` unless it is a version that can be compared */
export function checkVersion(where: string, version: unknown): void {
  checkArgument(where, 'resourceVersion', version, isVersion, 'a resourceVersion, which is a number');
}

interface Waiter {
  readonly version: string;
  readonly resolve: () => void;
}

export class CachedVersion {
  readonly #waiters = new Set<Waiter>();
  #version: string | undefined;

  /** The cache has everything up to this version. It may be older than before, where a server was restored from a backup. */
  set(version: string): void {
    this.#version = version;
    for (const waiter of this.#waiters) if (!isOlder(version, waiter.version)) waiter.resolve();
  }

  /** Resolves when the cache has this version, or a newer one. Rejects with the reason of the first signal that aborts. */
  async reached(version: string, ends: AbortSignal, signal: AbortSignal | undefined): Promise<void> {
    if (this.#version !== undefined && !isOlder(this.#version, version)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { version, resolve };
    this.#waiters.add(waiter);
    try {
      await abortable(() => abortable(() => promise, ends), signal);
    } finally {
      this.#waiters.delete(waiter);
    }
  }
}

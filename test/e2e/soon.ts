import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** Waits until something holds. Fails with what `told` says where it does not within 90 s. */
export async function soon(
  what: string,
  holds: () => boolean | Promise<boolean>,
  told: () => string = () => '',
): Promise<void> {
  const patience = performance.now() + 90_000;
  while (!(await holds())) {
    if (performance.now() > patience) assert.fail(`${what}: not within 90 s; ${told()}`);
    await pause(100);
  }
}

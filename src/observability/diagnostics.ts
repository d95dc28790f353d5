/** Reports an event to the metrics' observer, and to the subscribers of `diagnostics_channel`. */
import type { Channel } from 'node:diagnostics_channel';
import { callSafely } from './callbacks.ts';
import { warnOnStderr } from './logger.ts';

/** An observer that throws or rejects is ignored. If a subscriber throws, Node raises an uncaught exception, as on every channel. */
export function emitTo<Event extends object>(
  channel: Channel,
  name: string,
  observe: ((event: Event) => void) | undefined,
  event: Event,
): void {
  if (observe) callSafely(`an observer of ${name}`, () => observe(event), warnOnStderr);
  if (channel.hasSubscribers) channel.publish(event);
}

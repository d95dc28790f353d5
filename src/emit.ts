/** Tells observers and the subscribers of `diagnostics_channel`, whoever they are. */
import type { Channel } from 'node:diagnostics_channel';
import { callSafely } from './callbacks.ts';
import { warnOnStderr } from './logger.ts';

/** Tells everybody. One who throws, or rejects, is passed over. */
export function emitTo<Event extends object>(
  channel: Channel,
  name: string,
  observe: ((event: Event) => void) | undefined,
  event: Event,
): void {
  if (observe) callSafely(`an observer of ${name}`, () => observe(event), warnOnStderr);
  if (channel.hasSubscribers) publish(channel, event);
}

/**
 * `channel.publish` makes an uncaught exception of what a subscriber throws, and leaves a promise that rejects alone: both end
 * the process. So each is called by us, as long as Node keeps them where it does now.
 */
function publish(channel: Channel, event: object): void {
  const subscribers: unknown = Reflect.get(channel, '_subscribers');
  if (!Array.isArray(subscribers)) {
    channel.publish(event);
    return;
  }
  const name = String(channel.name);
  for (const subscriber of [...subscribers]) {
    callSafely(`a subscriber of ${name}`, () => subscriber(event, channel.name), warnOnStderr);
  }
}

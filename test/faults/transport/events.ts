import type { Writable } from 'node:stream';

/** Writes a line now and then, until it has been often enough, or the stream is gone. */
export function events(stream: Writable, most = Number.POSITIVE_INFINITY): void {
  let written = 0;
  const timer = setInterval(() => {
    if (stream.destroyed || stream.writableEnded) clearInterval(timer);
    else if (written < most) stream.write(`{"type":"ADDED","number":${written}}\n`);
    else stream.end();
    written += 1;
  }, 15).unref();
  stream.once('close', () => clearInterval(timer));
}

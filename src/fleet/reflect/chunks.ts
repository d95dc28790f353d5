/** What comes of a body, as large a piece as is there at a time: an API server may send each event in a frame of its own. */
import type { Readable } from 'node:stream';
import type { Deadline } from '../api-server.ts';

/**
 * Ends with the body, or rejects when it breaks off or the deadline has come. `patience` is called before each wait: the time that
 * the server takes is limited, the time that a slow reader takes is not.
 */
export async function* chunksOf(
  body: Readable,
  deadline: Deadline,
  patience: () => void,
): AsyncGenerator<Buffer, void> {
  let failure: unknown = deadline.signal.aborted ? deadline.signal.reason : undefined;
  let hasEnded = false;
  let wake = () => {};
  // What the rest of this turn brings comes with it: an API server sends each event in a frame of its own.
  const onReadable = () => setImmediate(() => wake());
  const onEnd = () => {
    hasEnded = true;
    wake();
  };
  const onError = (error: unknown) => {
    failure ??= error;
    wake();
  };
  const onAbort = () => onError(deadline.signal.reason);
  body.on('readable', onReadable).on('end', onEnd).on('error', onError);
  deadline.signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      const chunk: Buffer | null = body.read();
      if (chunk) yield chunk;
      else if (failure !== undefined) throw failure;
      else if (hasEnded) return;
      else {
        patience();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        deadline.clear();
      }
    }
  } finally {
    deadline.signal.removeEventListener('abort', onAbort);
    body.off('readable', onReadable).off('end', onEnd);
    // Without waiting: a connection that hangs must hold nobody up. Its listener for errors stays.
    body.destroy();
  }
}

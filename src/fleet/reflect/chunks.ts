/** What comes of a body, as large a piece as is there at a time: an API server may send each event in a frame of its own. */
import type { Readable } from 'node:stream';
import type { Deadline } from '../api-server.ts';

/** A body that is read as it comes. */
export interface Body {
  /** All that has come since the last time, in the pieces it came in. */
  read(): readonly Buffer[];
  /** Nothing comes after what can be read now. */
  readonly ended: boolean;
  /** Why it has broken off; `undefined` where it has not. */
  readonly failure: unknown;
  /** Has `wake` called when one of these may have changed. */
  onChange(wake: () => void): void;
  /** Nobody reads the rest. */
  destroy(): void;
}

/**
 * Ends with the body, or rejects when it breaks off or the deadline has come. `patience` sets the deadline before each wait: the
 * time that the server takes is limited, the time that a slow reader takes is not. Without it the deadline stays as it was set.
 */
export async function* chunksOf(
  body: Body,
  deadline: Deadline,
  patience?: () => void,
): AsyncGenerator<readonly Buffer[], void> {
  const { signal } = deadline;
  let wake = () => {};
  const onAbort = () => wake();
  body.onChange(() => wake());
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      const pieces = body.read();
      if (pieces.length > 0) yield pieces;
      else if (signal.aborted) throw signal.reason;
      else if (body.failure !== undefined) throw body.failure;
      else if (body.ended) return;
      else {
        patience?.();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        if (patience) deadline.clear();
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Without waiting: a connection that hangs must hold nobody up.
    body.destroy();
  }
}

/** A stream, for example of what is unpacked. */
export function bodyOf(stream: Readable): Body {
  return {
    read: () => {
      const chunk: Buffer | null = stream.read();
      return chunk ? [chunk] : [];
    },
    get ended() {
      return stream.readableEnded;
    },
    get failure() {
      return stream.errored ?? undefined;
    },
    onChange: (wake) => {
      // What the rest of this turn brings comes with it.
      stream.on('readable', () => setImmediate(wake)).on('end', wake);
      stream.on('error', wake).on('close', wake);
    },
    destroy: () => stream.destroy(),
  };
}

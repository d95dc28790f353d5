/** Where a verb writes: a terminal, with colours, or a pipe, without. */
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** A stream of the process. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export class Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** Writes results to stdout. Waits for a slow reader. */
  write(text: string): Promise<void> {
    return writeTo(this.stdout, text);
  }

  /** Writes a message to stderr, with a line break. */
  say(line: string): Promise<void> {
    return writeTo(this.stderr, `${line}\n`);
  }

  /** To either of them, as it is. */
  copy(stream: 'stdout' | 'stderr', text: string): Promise<void> {
    return writeTo(this[stream], text);
  }

  /** In a style on a terminal, and plain elsewhere and with `NO_COLOR`. */
  paint(style: Style, text: string, stream: OutputStream = this.stdout): string {
    return styleText(style, text, { stream });
  }
}

function writeTo(stream: Writable, text: string): Promise<void> {
  // What fails is the stream's error event, which the frame listens to: `| head` ends the program.
  return new Promise((resolve) => void stream.write(text, () => resolve()));
}

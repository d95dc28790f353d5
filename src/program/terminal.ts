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

  /** To stdout: what was asked for. Waits where the reader is slow. */
  write(text: string): Promise<void> {
    return writeTo(this.stdout, text);
  }

  /** To stderr: what is said beside it. A line break is added. */
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

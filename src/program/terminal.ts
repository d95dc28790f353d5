/** Where a verb writes: a terminal, with colours, or a pipe, without. */
import { fstatSync, writeFileSync } from 'node:fs';
import { styleText } from 'node:util';
import { printableLines } from '../diagnose/index.ts';

export type Style = Parameters<typeof styleText>[0];

type OutputStream = typeof process.stdout | typeof process.stderr;

export class Terminal {
  readonly stdout = process.stdout;
  readonly stderr = process.stderr;

  /** Writes results, to stdout. Waits for a slow reader. */
  write(text: string, stream: OutputStream = this.stdout): Promise<void> {
    return writeTo(stream, text);
  }

  /** Writes a message to stderr, with a line break. */
  say(line: string): Promise<void> {
    return writeTo(this.stderr, `${line}\n`);
  }

  /** Writes a message to stderr behind a label, such as `warning:`. It may quote untrusted text. */
  tell(label: string, style: Style, text: string): Promise<void> {
    return this.say(`${this.paint(style, label, this.stderr)} ${printableLines(text)}`);
  }

  warn(text: string): Promise<void> {
    return this.tell('warning:', 'yellow', text);
  }

  /** In a style on a terminal, and plain elsewhere and with `NO_COLOR`. */
  paint(style: Style, text: string, stream: OutputStream = this.stdout): string {
    return styleText(style, text, { stream });
  }
}

async function writeTo(stream: OutputStream, text: string): Promise<void> {
  // A full disk refuses even that.
  if (text === '') return;
  // What fails is the stream's error event, which the frame listens to: `| head` ends the program.
  if (fstatSync(stream.fd).isFile()) {
    // A full disk may take a part of the text, and Node's stream for a file takes that for all of it.
    try {
      writeFileSync(stream.fd, text);
    } catch (error) {
      stream.emit('error', error);
    }
    return;
  }
  return new Promise((resolve) => void stream.write(text, () => resolve()));
}

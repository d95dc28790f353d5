/** Output of several processes on one terminal: whole lines, so that they do not mix. */
import { StringDecoder } from 'node:string_decoder';

/** Cuts chunks of bytes into texts of whole lines, each with its line break. The last line gets one. */
export async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  /** The pieces of a line that has not ended. */
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.write(chunk);
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) {
      yield pieces.join('') + text.slice(0, end);
      pieces = [];
    }
    pieces.push(text.slice(end));
  }
  const last = pieces.join('') + decoder.end();
  if (last !== '') yield `${last}\n`;
}

/**
 * Finds where the items of a list begin and end while its bytes arrive, so that they can be parsed a few at a time: an answer of
 * any size never has to be parsed in one piece. Looks at quotes and brackets only; what it gives out still has to be parsed.
 */
import { longestObject, MalformedResponse } from './malformed.ts';
import { Unfinished } from './unfinished.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const space = 0x20;

/** Where items stand: in an array that is a member of the list. */
const itemDepth = 2;
/** Characters in which the name of the items stands, and the space around it. */
const nameSize = 100;
/** Strings longer than this are searched natively, which is slower for short ones. */
const shortString = 48;

export class ItemSplitter {
  #where: 'before' | 'items' | 'after' = 'before';
  #depth = 0;
  #inString = false;
  /** The chunk before ended with a backslash that escapes the first character of the next. */
  #escaped = false;
  /** The text of the list without its items, as far as it has come. */
  #envelope = '';
  /** The beginning of an item that has not ended. */
  readonly #open = new Unfinished();

  /** The items that have ended with this chunk, as the text of a JSON array; `undefined` where none has. */
  push(chunk: Buffer): string | undefined {
    let items: string | undefined;
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#where === 'items') {
        const { ended, next } = this.#scanItems(rest);
        items = ended === undefined ? items : ended;
        rest = rest.subarray(next);
      } else {
        rest = rest.subarray(this.#scanEnvelope(rest));
      }
    }
    return items;
  }

  /** At the end of a list: its text without its items. Throws where it has not ended. */
  end(): string {
    if (this.#where === 'items' || this.#depth !== 0 || this.#inString || this.#envelope === '') {
      throw new MalformedResponse('it breaks off in the middle');
    }
    return this.#envelope;
  }

  /** Reads up to the items, or to the end. Returns how many bytes. */
  #scanEnvelope(chunk: Buffer): number {
    let at = 0;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) this.#inString = false;
      } else if (byte === quote) {
        this.#inString = true;
      } else if (byte === openBrace || byte === openBracket) {
        this.#depth += 1;
        if (byte !== openBracket || this.#where !== 'before' || this.#depth !== itemDepth) continue;
        if (!/"items"\s*:\s*$/.test(this.#textBefore(chunk, at))) continue;
        at += 1;
        this.#where = 'items';
        break;
      } else if (byte === closeBrace || byte === closeBracket) {
        this.#depth -= 1;
      }
    }
    // Its fields are tokens and versions; a name in it that is no ASCII would only be shown.
    this.#envelope += chunk.toString('latin1', 0, at);
    if (this.#envelope.length > longestObject) throw new MalformedResponse('it is too large');
    return at;
  }

  /** The end of what stands before a place in a chunk: to look at all of it for each bracket would take minutes. */
  #textBefore(chunk: Buffer, at: number): string {
    const text = chunk.toString('latin1', Math.max(0, at - nameSize), at);
    return text.length < nameSize ? this.#envelope.slice(-nameSize) + text : text;
  }

  /** Reads up to the end of the items. Returns those that have ended, and how many bytes were read. */
  #scanItems(chunk: Buffer): { readonly ended: string | undefined; readonly next: number } {
    const { length } = chunk;
    let depth = this.#depth;
    let doneTo = 0;
    let at = this.#inString ? this.#endOfString(chunk, 0) : 0;
    for (; at < length; at++) {
      const byte = chunk[at];
      if (byte === quote) {
        at = this.#endOfString(chunk, at + 1) - 1;
      } else if (byte === openBrace || byte === openBracket) {
        depth += 1;
      } else if (byte === closeBrace || byte === closeBracket) {
        depth -= 1;
        if (depth === itemDepth) {
          doneTo = at + 1;
        } else if (depth < itemDepth) {
          this.#where = 'after';
          // The bracket itself is the envelope's.
          depth += 1;
          break;
        }
      } else if (depth === itemDepth && byte !== undefined && byte > space && byte !== comma) {
        throw new MalformedResponse('something else than objects stands among its items');
      }
    }
    this.#depth = depth;
    return { ended: this.#take(chunk, doneTo, at), next: at };
  }

  /** The items up to `doneTo`; what follows is kept for the next chunk. */
  #take(chunk: Buffer, doneTo: number, end: number): string | undefined {
    let ended: string | undefined;
    if (doneTo > 0) {
      const text = Buffer.concat([this.#open.take(), chunk.subarray(0, doneTo)]).toString('utf8');
      // Between the items of two chunks stands a comma.
      ended = `[${text.replace(/^[\s,]+/, '')}]`;
    }
    if (this.#where === 'items') this.#open.add(chunk.subarray(doneTo, end));
    return ended;
  }

  /** The index after the quote that ends a string, or the chunk's length. */
  #endOfString(chunk: Buffer, start: number): number {
    const { length } = chunk;
    let at = this.#escaped ? start + 1 : start;
    this.#escaped = false;
    this.#inString = true;
    const short = Math.min(length, at + shortString);
    while (at < short) {
      const byte = chunk[at];
      if (byte === quote) {
        this.#inString = false;
        return at + 1;
      }
      at += byte === backslash ? 2 : 1;
    }
    while (at < length) {
      const end = chunk.indexOf(quote, at);
      const stop = end < 0 ? length : end;
      let backslashes = 0;
      while (stop - backslashes > at && chunk[stop - 1 - backslashes] === backslash) backslashes += 1;
      const odd = backslashes % 2 === 1;
      if (end < 0) {
        this.#escaped = odd;
        return length;
      }
      if (!odd) {
        this.#inString = false;
        return end + 1;
      }
      at = end + 1;
    }
    this.#escaped = at > length;
    return length;
  }
}

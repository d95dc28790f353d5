/** Just enough DER to write a certificate. */

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
export const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, ...parts);
export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
export const octets = (value: Buffer): Buffer => tagged(0x04, value);
export const bits = (value: Buffer, unused = 0): Buffer => tagged(0x03, Buffer.from([unused]), value);
export const utf8 = (value: string): Buffer => tagged(0x0c, Buffer.from(value));
/** A value in the `[number]` that a schema gives it; `constructed` where it holds other values. */
export const context = (number: number, value: Buffer, constructed = false): Buffer =>
  tagged((constructed ? 0xa0 : 0x80) | number, value);

/** A non-negative integer, most significant byte first. */
export function integer(value: Buffer): Buffer {
  const padded = (value[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.from([0]), value]) : value;
  return tagged(0x02, padded);
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let value = part >> 7; value > 0; value >>= 7) digits.unshift((value & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return tagged(0x06, Buffer.from(bytes));
}

/** GeneralizedTime, or UTCTime before 2050 as RFC 5280 asks. */
export function time(date: Date): Buffer {
  const text = `${date.toISOString().replace(/[-:T]|\.\d+/g, '')}`;
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}

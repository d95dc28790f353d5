import type { IncomingHttpHeaders } from 'node:http';

/** The content encoding of a body, such as `gzip`: it has a second name, and may be in capitals (RFC 9110). Empty where there is none. */
export function contentEncodingOf(headers: IncomingHttpHeaders): string {
  const encodings = [headers['content-encoding']].flat().join(',').toLowerCase().split(',');
  return encodings
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity')
    .map((encoding) => (encoding === 'x-gzip' ? 'gzip' : encoding))
    .join(', ');
}

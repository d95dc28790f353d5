import type { IncomingHttpHeaders } from 'node:http';

/** The content encoding of a body, in lower case, such as `gzip`, which has a second name (RFC 9110). Empty if there is none. */
export function contentEncodingOf(headers: IncomingHttpHeaders): string {
  const given = headers['content-encoding'];
  if (given === undefined || given === 'gzip') return given ?? '';
  const encodings = [given].flat().join(',').toLowerCase().split(',');
  return encodings
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity')
    .map((encoding) => (encoding === 'x-gzip' ? 'gzip' : encoding))
    .join(', ');
}

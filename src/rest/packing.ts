import type { IncomingHttpHeaders } from 'node:http';

/** How a body is packed: `gzip`, for example, which has a second name and may be in capitals (RFC 9110). Empty where it is not. */
export function packingOf(headers: IncomingHttpHeaders): string {
  const packings = [headers['content-encoding']].flat().join(',').toLowerCase().split(',');
  return packings
    .map((packing) => packing.trim())
    .filter((packing) => packing !== '' && packing !== 'identity')
    .map((packing) => (packing === 'x-gzip' ? 'gzip' : packing))
    .join(', ');
}

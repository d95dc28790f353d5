/** Reads PEM: the one place that decides which certificates a text has. Pure. */
import { X509Certificate } from 'node:crypto';

/** No bundle of a system has more certificates; each takes a while to read. */
const maxCertificates = 500;

/** Certificates, or the problem with a text, as the rest of a sentence. */
export type PemReading = { readonly certificates: readonly X509Certificate[] } | { readonly problem: string };

/**
 * Returns the certificates of a text. OpenSSL, which reads it again for a connection, also accepts blocks other than `CERTIFICATE`: so a
 * block of any other name or form is refused, and exactly what was checked will be trusted. Text between blocks is ignored, but not on
 * their first and last lines: OpenSSL would not see such a block.
 */
export function readCertificates(pem: string): PemReading {
  // Stops one beyond the limit: the exact number does not matter.
  const [before = '', ...blocks] = pem.split('-----BEGIN', maxCertificates + 2);
  if (blocks.length === 0) return { problem: 'holds no PEM certificate: it must be the base64 of a PEM file' };
  if (blocks.length > maxCertificates) {
    const advice = `keep those that sign the server's own, ${maxCertificates} at most`;
    return { problem: `holds more than ${maxCertificates} certificates: ${advice}` };
  }
  const certificates: X509Certificate[] = [];
  for (const [index, text] of blocks.entries()) {
    const which = `block ${index + 1} of ${blocks.length}`;
    const beginsLine = /(?:^|\n)(?:\xef\xbb\xbf)?$/.test(blocks[index - 1] ?? before);
    const [, block] =
      /^( CERTIFICATE-----\s[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----)[ \t\r]*(?:\n|$)/.exec(text) ?? [];
    if (block === undefined || !beginsLine) {
      const [, name] = /^ ([A-Z0-9 ]{1,40})-----/.exec(text) ?? [];
      const what =
        name === undefined || name === 'CERTIFICATE' ? 'broken, has headers, or shares a line' : `called ${name}`;
      return { problem: `may hold blocks of PEM called CERTIFICATE only, and ${which} is ${what}` };
    }
    try {
      certificates.push(new X509Certificate(`-----BEGIN${block}`));
    } catch {
      return { problem: `holds a certificate that cannot be read (${which})` };
    }
  }
  return { certificates };
}

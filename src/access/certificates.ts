/** The certificates of an authority, checked: exactly what was checked is trusted. Pure. */
import { hash, X509Certificate } from 'node:crypto';

/** Results of earlier checks, by the digest of the text: controllers resolve the same profiles repeatedly. */
const verdicts = new Map<string, string | undefined>();
const maxVerdicts = 10_000;

/** @internal The problem with an authority (base64 of PEM), or `undefined`. */
export function authorityProblem(base64: string): string | undefined {
  const digest = hash('sha256', base64, 'base64');
  if (verdicts.has(digest)) return verdicts.get(digest);
  const verdict = certificatesProblem(base64);
  const [oldest] = verdicts.size < maxVerdicts ? [] : verdicts.keys();
  if (oldest !== undefined) verdicts.delete(oldest);
  verdicts.set(digest, verdict);
  return verdict;
}

function certificatesProblem(base64: string): string | undefined {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64))
    return 'is not base64: it must hold the PEM of the authority, encoded as base64';
  const reading = readCertificates(Buffer.from(base64, 'base64').toString('latin1'));
  return 'problem' in reading ? reading.problem : undefined;
}

/** No bundle of a system has more certificates; each takes a while to read. */
const maxCertificates = 500;

/**
 * Returns the certificates of a PEM text, or its problem as the rest of a sentence. OpenSSL, which reads it again for a connection, also
 * accepts blocks other than `CERTIFICATE`: so a block of any other name or form is refused, and exactly what was checked will be trusted.
 * Text between blocks is ignored, but not on their first and last lines: OpenSSL would not see such a block.
 */
export function readCertificates(
  pem: string,
): { readonly certificates: readonly X509Certificate[] } | { readonly problem: string } {
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

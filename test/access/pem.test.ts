import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import tls from 'node:tls';
import { readCertificates } from '../../src/access/certificates.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';

const authorities = { A: createCertificateAuthority('A'), B: createCertificateAuthority('B') };
const [a, b] = [authorities.A, authorities.B].map(({ certificate }) => certificate.trim());
const base64 = `${a}`.split('\n').slice(1, -1).join('\n');
const block = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
const nameOf = (certificate: string) => (new X509Certificate(certificate).subject.endsWith('A') ? 'A' : 'B');
const byteOrderMark = '\xef\xbb\xbf';

describe('what is read from PEM is what a TLS connection trusts', () => {
  const servers = new Map<string, tls.Server>();
  before(async () => {
    for (const [name, authority] of Object.entries(authorities)) {
      const { certificate: cert, key } = authority.issue({ commonName: 'localhost', dnsNames: ['localhost'] });
      const server = tls.createServer({ cert, key }, (socket) => socket.end()).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.set(name, server);
    }
  });
  after(() => {
    for (const server of servers.values()) server.close();
  });

  /** The names of the servers that are believed with these authorities. */
  async function trusted(pem: string): Promise<string> {
    const names: string[] = [];
    const ca = Buffer.from(pem, 'latin1').toString();
    for (const [name, server] of servers) {
      const { port } = server.address() as AddressInfo; // it listens on a port
      const socket = tls.connect({ host: '127.0.0.1', port, servername: 'localhost', ca, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      if (socket.authorized) names.push(name);
      socket.destroy();
    }
    return names.join('');
  }

  for (const [what, pem, expected] of [
    ['two certificates', `${a}\n${b}\n`, 'AB'],
    ['lines that end with CR and LF', `${a}\n${b}\n`.replaceAll('\n', '\r\n'), 'AB'],
    ['a byte order mark', `${byteOrderMark}${a}\n${byteOrderMark}${b}`, 'AB'],
    ['text between blocks', `subject=/CN=-----\n${a}\n-----END CERTIFICATE-----\n\0\n${b}`, 'AB'],
    ['spaces at the ends of lines', `${a}\n${b}`.replaceAll('\n', ' \t\n'), 'AB'],
    ['base64 in one line', block(base64.replaceAll('\n', '')), 'A'],
  ] as const) {
    test(`with ${what}`, async () => {
      const reading = readCertificates(pem);
      assert.ok('certificates' in reading, JSON.stringify(reading));
      assert.equal(reading.certificates.map(String).map(nameOf).join(''), expected);
      assert.equal(await trusted(pem), expected);
    });
  }

  for (const [what, pem, sees] of [
    ['no line break between two', `${a}${b}\n`, ''],
    ['text behind the end of the first', `${a} # ours\n${b}\n`, ''],
    ['text before the first', `# ${a}\n${b}\n`, 'B'],
    ['one dash too many', `-${a}\n${b}\n`, 'B'],
    ['a NUL before the second', `${a}\n\0${b}\n`, 'A'],
    ['lines that are indented', `${a}\n${b}`.replace(/^/gm, '  '), ''],
    ['lines that end with CR', `${a}\n${b}`.replaceAll('\n', '\r'), ''],
    ['headers', block(`Proc-Type: 4\n\n${base64}`), ''],
    ['a second block that is cut off', `${a}\n${b?.slice(0, 60)}`, 'A'],
  ] as const) {
    test(`it is refused with ${what}, of which OpenSSL sees ${sees || 'nothing'}`, async () => {
      assert.match(JSON.stringify(readCertificates(pem)), /problem/);
      assert.equal(await trusted(pem), sees);
    });
  }
});

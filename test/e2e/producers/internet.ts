/** Hosts of the internet that are played on loopback: a proxy leads to them, and their certificates are of an authority of ours. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type IssuedCertificate,
} from '../../../src/testing/index.ts';
import { type Lifetime, listen } from '../../fixtures/listen.ts';
import { writeInput } from '../../fixtures/program.ts';
import { join } from '../../fixtures/proxies.ts';

export interface Internet {
  /** For a program: the way to these hosts, and whom to trust. Loopback is not proxied. */
  readonly env: { readonly HTTPS_PROXY: string; readonly SSL_CERT_FILE: string; readonly AWS_CA_BUNDLE: string };
  /** Plays a host on port 443. */
  serve(host: string, listener: RequestListener): Promise<void>;
  /** Leads a host's port 443 to a port of loopback. */
  lead(host: string, port: number): void;
  /** Whom programs with `env` trust. */
  readonly authority: CertificateAuthority;
}

/** All of it ends with the test. Hosts that nobody plays cannot be reached. */
export async function startInternet(life: Lifetime): Promise<Internet> {
  const authority = createCertificateAuthority('internet-ca');
  const ports = new Map<string, number>();
  const proxy = createServer((_request, response) => response.writeHead(405).end());
  proxy.on('connect', ({ url = '' }, socket: Socket) => {
    const port = ports.get(url.replace(/:443$/, ''));
    if (port === undefined) {
      socket.end('HTTP/1.1 502 Nobody plays this host\r\n\r\n');
      return;
    }
    join(
      socket,
      connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 Connected\r\n\r\n')),
    );
  });
  const SSL_CERT_FILE = await writeInput(life, 'ca.crt', authority.certificate);
  const { port: proxyPort } = await listen(life, proxy);
  return {
    // AWS's libraries have a variable of their own, which this machine may have set.
    env: { HTTPS_PROXY: `http://127.0.0.1:${proxyPort}`, SSL_CERT_FILE, AWS_CA_BUNDLE: SSL_CERT_FILE },
    serve: async (host, listener) => {
      const issued = authority.issue({ commonName: host, dnsNames: [host] });
      ports.set(host, await listenWithTls(life, issued, listener));
    },
    lead: (host, port) => ports.set(host, port),
    authority,
  };
}

/** A TLS server of loopback, until the test ends. Gives its port. */
export async function listenWithTls(
  life: Lifetime,
  { certificate: cert, key }: IssuedCertificate,
  listener: RequestListener,
): Promise<number> {
  const { port } = await listen(life, createTlsServer({ cert, key }, listener));
  return port;
}

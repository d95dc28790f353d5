/** Hosts of the internet that are played on loopback: a proxy leads to them, and their certificates are of an authority of ours. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type IssuedCertificate,
} from '../../../src/testing/index.ts';
import type { Lifetime } from '../fixture.ts';

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
    const server = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      server.pipe(socket).pipe(server);
    });
    for (const [one, other] of [
      [socket, server],
      [server, socket],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  const folder = await mkdtemp(join(tmpdir(), 'internet-'));
  life.after(() => rm(folder, { recursive: true }));
  const SSL_CERT_FILE = join(folder, 'ca.crt');
  await writeFile(SSL_CERT_FILE, authority.certificate);
  return {
    // AWS's libraries have a variable of their own, which this machine may have set.
    env: { HTTPS_PROXY: `http://127.0.0.1:${await listen(life, proxy)}`, SSL_CERT_FILE, AWS_CA_BUNDLE: SSL_CERT_FILE },
    serve: async (host, listener) => {
      const issued = authority.issue({ commonName: host, dnsNames: [host] });
      ports.set(host, await listenWithTls(life, issued, listener));
    },
    lead: (host, port) => ports.set(host, port),
    authority,
  };
}

/** A TLS server of loopback, until the test ends. Gives its port. */
export function listenWithTls(
  life: Lifetime,
  { certificate: cert, key }: IssuedCertificate,
  listener: RequestListener,
): Promise<number> {
  return listen(life, createTlsServer({ cert, key }, listener));
}

async function listen(life: Lifetime, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  life.after(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return port;
}

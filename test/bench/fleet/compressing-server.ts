// An API server by a name that is not loopback's. It compresses a streaming list as Kubernetes 1.37 does, one gzip member for each flush.
import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { createCertificateAuthority } from '../../../src/testing/index.ts';

export interface CompressingServer {
  readonly server: string;
  readonly certificateAuthorityData: string;
  /** The proxy that finds it. */
  readonly proxyUrl: string;
  /** Bytes of the bodies since the last call. */
  sent(): number;
  close(): void;
}

const name = 'api.example';
/** Bytes of a member. The server flushes when it has no more events, and it has them faster than it sends them. */
const memberBytes = 1024 * 1024;

/** Forwards to the API server at `url`. */
export async function startCompressingServer(url: string, ca: string): Promise<CompressingServer> {
  const authority = createCertificateAuthority();
  const { certificate, key } = authority.issue({ commonName: name, dnsNames: [name] });
  const upstream = new Agent({ connect: { ca } });
  let bytes = 0;

  const forward = async (asked: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const { authorization = '', accept = '', 'accept-encoding': encoding } = asked.headers;
    const { statusCode, headers, body } = await request(`${url}${asked.url}`, {
      dispatcher: upstream,
      signal: gone.signal,
      headers: { authorization, accept },
    });
    let listing = asked.url.includes('sendInitialEvents') && encoding === 'gzip';
    response.writeHead(statusCode, {
      'content-type': headers['content-type']?.toString() ?? '',
      ...(listing ? { 'content-encoding': 'gzip' } : {}),
    });
    const pack = listing;
    let waiting: Uint8Array[] = [];
    let size = 0;
    let tail = '';
    for await (const piece of body) {
      waiting.push(piece);
      size += piece.length;
      if (listing) {
        tail = `${tail.slice(-32)}${Buffer.from(piece).toString('latin1')}`;
        listing = !tail.includes('initial-events-end');
        if (listing && size < memberBytes) continue;
      }
      const text = Buffer.concat(waiting);
      const out = pack ? gzipSync(text, { level: 1 }) : text;
      waiting = [];
      size = 0;
      bytes += out.length;
      if (!response.stream.write(out)) await new Promise((resolve) => response.stream.once('drain', resolve));
    }
    response.end();
  };

  const api = createSecureServer({ cert: certificate, key }, (asked, response) => {
    forward(asked, response).catch(() => response.stream.close());
  });
  const proxy = createServer().on('connect', (_asked, client: Socket) => {
    const socket = connect(portOf(api), '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    client.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.pipe(socket).pipe(client);
  });
  for (const each of [api, proxy]) await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', () => resolve()));
  return {
    server: `https://${name}:${portOf(api)}`,
    certificateAuthorityData: Buffer.from(authority.certificate).toString('base64'),
    proxyUrl: `http://127.0.0.1:${portOf(proxy)}`,
    sent: () => {
      const sent = bytes;
      bytes = 0;
      return sent;
    },
    close: () => {
      api.close();
      proxy.close();
      upstream.destroy();
    },
  };
}

function portOf(server: Pick<Server, 'address'>): number {
  return (server.address() as AddressInfo).port; // it listens on TCP
}

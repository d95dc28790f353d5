// Clusters that send as much as is read, in a process of their own: hostile-servers.ts COUNT. Says where they are.
import { once } from 'node:events';
import { createSecureServer, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createCertificateAuthority } from '../../../src/testing/index.ts';

const authority = createCertificateAuthority();
const { certificate: cert, key } = authority.issue({ commonName: 'api', ipAddresses: ['127.0.0.1'] });
const certificateAuthorityData = Buffer.from(authority.certificate).toString('base64');

const configMap = (name: string, data: unknown = { x: 'x'.repeat(1_000) }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: '101' },
  data,
});
const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const listed = line('BOOKMARK', {
  metadata: { resourceVersion: '100', annotations: { 'k8s.io/initial-events-end': 'true' } },
});
const small = line('MODIFIED', configMap('flood'));
const flood = small.repeat(60);
/** 8 MB. */
const large = line(
  'MODIFIED',
  configMap(
    'large',
    Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`key-${i}`, 'a value of 20 bytes'])),
  ),
);

/** Writes as long as it is read. */
function writeForEver(response: Http2ServerResponse, next: () => string): void {
  const send = () => {
    while (!response.stream.destroyed) if (!response.write(next())) return;
  };
  response.on('drain', send);
  send();
}

type Answer = (query: URLSearchParams, response: Http2ServerResponse) => void;
const kinds: readonly Answer[] = [
  // A streaming list without an end.
  (_query, response) => {
    let sent = 0;
    writeForEver(response, () => Array.from({ length: 50 }, () => line('ADDED', configMap(`map-${sent++}`))).join(''));
  },
  // Pages without an end.
  (query, response) => {
    if (query.has('watch')) return response.writeHead(400).end();
    const from = Number(query.get('continue'));
    const items = Array.from({ length: Number(query.get('limit')) }, (_, i) => configMap(`map-${from + i}`));
    response.end(
      JSON.stringify({ metadata: { resourceVersion: '100', continue: String(from + items.length) }, items }),
    );
  },
  // Objects of 8 MB.
  (_query, response) => {
    response.write(listed);
    writeForEver(response, () => large);
  },
  // A flood of small events.
  (_query, response) => {
    response.write(listed);
    writeForEver(response, () => flood);
  },
];

const addresses = await Promise.all(
  Array.from({ length: Number(process.argv[2]) }, async (_, index) => {
    const server = createSecureServer({ cert, key }, (request, response) => {
      const { pathname, searchParams } = new URL(request.url, 'https://server');
      if (pathname.endsWith('/configmaps')) kinds[index % kinds.length]?.(searchParams, response);
      else if (pathname === '/version') response.end('{}');
      else response.end(JSON.stringify({ resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }] }));
    });
    server.on('session', (session) => session.on('error', () => {}));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, certificateAuthorityData }; // it listens on TCP
  }),
);
process.on('disconnect', () => process.exit(0));
process.send?.(addresses);

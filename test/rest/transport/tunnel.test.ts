import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { parseProxy } from '../../../src/rest/transport/proxy.ts';
import { proxyContext } from '../../../src/rest/transport/trust.ts';
import { openTunnel } from '../../../src/rest/transport/tunnel.ts';
import { startRawServer } from '../../fixtures/proxies.ts';

test('what the server says in the same piece as the answer of the proxy is not lost', async (t) => {
  const port = await startRawServer(t, (socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'));
  });
  const secureContext = () => proxyContext(undefined);
  const socket = await openTunnel(parseProxy(`http://127.0.0.1:${port}`), 'h', 1, { timeoutMs: 5_000, secureContext });
  t.after(() => socket.destroy());
  let heard = '';
  socket.setEncoding('latin1').on('data', (text) => {
    heard += text;
  });
  while (heard.length < 5) await once(socket, 'data');
  assert.equal(heard, 'hello');
});

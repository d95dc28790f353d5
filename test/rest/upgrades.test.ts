import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:https';
import { test } from 'node:test';
import { upgrade } from 'undici';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen, profileAt, tlsOptions } from '../fixtures/raw-h2.ts';

test('a token that is rotated again and again is refreshed for upgrades, too', async (t) => {
  const server = createServer(tlsOptions);
  let token = '';
  server.on('upgrade', ({ headers }, socket) => {
    socket.on('error', () => undefined);
    const known = headers.authorization === `Bearer ${token}`;
    const upgraded = '101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade';
    socket.end(`HTTP/1.1 ${known ? upgraded : '401 Unauthorized\r\ncontent-length: 0'}\r\n\r\n`);
  });
  const port = await listen(t, server);
  const plugin = await startPlugin(t);
  const ends: unknown[] = [];
  const observer = (event: unknown) => ends.push(event);
  subscribe('clusterprofile-credentials:request-end', observer);
  t.after(() => unsubscribe('clusterprofile-credentials:request-end', observer));
  const { dispatcher } = startProviders(t, plugin).getConfig(profileAt(port));
  for (token of ['token-1', 'token-2', 'token-3', 'token-4']) {
    await plugin.answer({ token });
    const { socket } = await upgrade(`https://127.0.0.1:${port}/x`, { protocol: 'echo', dispatcher });
    socket.destroy();
  }
  assert.equal(await plugin.runs(), 4);
  assert.deepEqual(
    ends.map((event) => Reflect.get(Object(event), 'statusCode')),
    [101, 101, 101, 101],
  );
});

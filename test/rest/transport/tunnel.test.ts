import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { parseProxy } from '../../../src/rest/transport/proxy.ts';
import { proxyContext } from '../../../src/rest/transport/trust.ts';
import { openTunnel } from '../../../src/rest/transport/tunnel.ts';
import { startRawServer } from '../../fixtures/proxies.ts';

/** A proxy that answers CONNECT with these bytes, each piece by itself; then it hangs up, if asked to. */
async function openThrough(t: TestContext, pieces: Iterable<string>, hangsUp = false, timeoutMs = 5_000) {
  const port = await startRawServer(t, (socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', async () => {
      socket.setNoDelay(true);
      for (const piece of pieces) {
        socket.write(piece);
        await turn();
      }
      if (hangsUp) socket.end();
    });
  });
  const secureContext = () => proxyContext(undefined);
  const socket = await openTunnel(parseProxy(`http://127.0.0.1:${port}`), 'h', 1, { timeoutMs, secureContext });
  t.after(() => socket.destroy());
  return socket;
}

const ok = 'HTTP/1.1 200 OK\r\n\r\n';
const proceed = 'HTTP/1.1 100 Continue\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

describe('a proxy that says something before its answer', () => {
  for (const [what, said] of Object.entries({
    nothing: '',
    '100': proceed,
    '103': hints,
    'several of them': `${proceed}${hints}HTTP/1.0 102\r\n\r\n`,
  })) {
    for (const [how, cut] of Object.entries({
      'at once': (text: string) => [text],
      'byte by byte': (text: string) => text,
    })) {
      test(`(${what}, ${how}) opens the connection, and what follows is there`, async (t) => {
        const socket = await openThrough(t, cut(`${said}${ok}hello`));
        let heard = '';
        socket.setEncoding('latin1').on('data', (text) => {
          heard += text;
        });
        while (heard.length < 5) await once(socket, 'data');
        assert.equal(heard, 'hello');
      });
    }
  }

  for (const [what, said, code, message] of [
    ['a refusal', `${proceed}HTTP/1.1 403 No\r\n\r\n`, 'PROXY_FAILED', /refused the connection with 403/],
    ['a login', `${hints}HTTP/1.1 407 Who\r\n\r\n`, 'PROXY_AUTH_REQUIRED', /asks for a login/],
    ['another protocol', `${proceed}HTTP/1.1 101 Switching\r\n\r\n`, 'PROXY_FAILED', /with 101/],
    ['no HTTP', `${proceed}SSH-2.0-OpenSSH_9\r\n\r\n`, 'PROXY_FAILED', /does not answer as an HTTP proxy does/],
    ['the same for ever', hints.repeat(5_000), 'PROXY_FAILED', /HPE_HEADER_OVERFLOW/],
    ['headers for ever', `${proceed}HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(9_000)}`, 'PROXY_FAILED', /OVERFLOW/],
    ['the end', proceed, 'PROXY_FAILED', /cannot be reached \(ECONNRESET\)/],
  ] as const) {
    test(`and then ${what} gives its error`, async (t) => {
      await assert.rejects(openThrough(t, [said], what === 'the end'), { code, message });
    });
  }

  test('and then nothing is given up in time', async (t) => {
    await assert.rejects(openThrough(t, [proceed], false, 200), { code: 'PROXY_TIMEOUT' });
  });
});

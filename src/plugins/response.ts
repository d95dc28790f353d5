/** The answer to a request of Node's own HTTP client. */
import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import { readBeginning } from '../util/printable.ts';

export interface HttpAnswer {
  readonly statusCode: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/** Of the body no more than `maxBytes`. Rejects with the first error: the request has the cause of one of its response. */
export function answerTo(outgoing: ClientRequest, signal: AbortSignal, maxBytes: number): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('response', (response) => {
      const { statusCode = 0, headers } = response;
      readBeginning(response, maxBytes).then((text) => resolve({ statusCode, text: text.toString(), headers }), reject);
    });
    outgoing.on('error', reject);
    // A request that waits for a proxy's tunnel reports neither an error nor a close when its signal aborts.
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    // Otherwise Node closes the connection and says nothing, and a process with nothing else to do ends.
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(Object.assign(new Error(), { code: 'ERR_HTTP_UPGRADE' }));
    });
  });
}

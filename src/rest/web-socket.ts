/** What client-node's WebSockets are opened with: a connection with the credential's certificate, and a handshake that is watched. */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { KubeConfig } from '@kubernetes/client-node';
import type { RequestError } from '../errors/index.ts';
import { bracket } from '../util/hosts.ts';
import { originRefusal, pathRefusal, unboundRefusal } from './request/bounds.ts';
import { type Handshake, type WebSocketClient, watchHandshake } from './web-socket-handshake.ts';

type HttpsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0];
type Connected = (error: Error | null, socket: Socket | null) => void;

/** The options of one WebSocket. */
export function webSocketOptions(handshake: Handshake, headers: HttpsOptions['headers']): object {
  const { dispatcher, connection, credential } = handshake;
  const { authorization } = credential;
  const connect = connection.webSocketConnector(credential, dispatcher);
  const { protocol, hostname, host, port } = new URL(connection.origin);
  const target = { protocol, hostname, host, port: port || (protocol === 'https:' ? '443' : '80') };
  let foreign: RequestError | undefined;
  let isChecked = false;
  return {
    headers: { ...headers, ...dispatcher.impersonation, ...(authorization ? { Authorization: authorization } : {}) },
    createConnection: (asked: { readonly host: string; readonly port: number | string }, done: Connected) => {
      const wanted = `${protocol}//${bracket(asked.host)}:${asked.port}`;
      if (URL.parse(wanted)?.host !== host) {
        foreign = originRefusal(dispatcher, wanted);
        done(foreign, null);
        return;
      }
      connect(target, (...[error, socket]) => {
        // ws before 8.13 and https.get do not call finishRequest: their path has not been checked.
        const refusal = isChecked ? undefined : (dispatcher.fence?.() ?? unboundRefusal(dispatcher));
        if (dispatcher.destroyed || refusal) socket?.destroy();
        done(refusal ?? (error && dispatcher.toOwnError(error)), socket);
      });
    },
    finishRequest: (request: ClientRequest, client: WebSocketClient) => {
      isChecked = true;
      watchHandshake(request, client, handshake);
      const refusal = foreign ?? dispatcher.fence?.() ?? pathRefusal(dispatcher, request.path);
      if (refusal) request.destroy(refusal);
      else request.end();
    },
  };
}

/** What client-node's WebSockets are opened with: a connection with the credential's certificate, and a handshake that is watched. */
import type { ClientRequest } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import type { KubeConfig } from '@kubernetes/client-node';
import type { RequestError } from '../errors/index.ts';
import type { Credential } from '../exec/credential.ts';
import { originRefusal, pathRefusal } from './request/bounds.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import type { Connection } from './transport/connection.ts';
import type { Destination } from './transport/destination.ts';
import { type WebSocketClient, watchHandshake } from './web-socket-handshake.ts';

type HttpsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0];
type Connected = (error: Error | null, socket: Socket | null) => void;

interface WebSocketParts {
  readonly dispatcher: AuthenticatedDispatcher;
  readonly connection: Connection;
  readonly credential: Credential;
  readonly server: string;
  readonly impersonation: Destination['impersonation'];
}

/** The options of one WebSocket. */
export function webSocketOptions(
  { dispatcher, connection, credential, server, impersonation }: WebSocketParts,
  headers: HttpsOptions['headers'],
): object {
  const { authorization } = credential;
  const connect = connection.webSocketConnector(credential, dispatcher);
  const { protocol, hostname, host, port } = new URL(server);
  const target = { protocol, hostname, host, port: port || (protocol === 'https:' ? '443' : '80') };
  let foreign: RequestError | undefined;
  return {
    headers: { ...headers, ...impersonation, ...(authorization ? { Authorization: authorization } : {}) },
    createConnection: (asked: { readonly host: string; readonly port: number | string }, done: Connected) => {
      const wanted = `${protocol}//${isIPv6(asked.host) ? `[${asked.host}]` : asked.host}:${asked.port}`;
      if (URL.parse(wanted)?.host !== host) {
        foreign = originRefusal(dispatcher, wanted);
        done(foreign, null);
        return;
      }
      connect(target, (...[error, socket]) => {
        if (dispatcher.destroyed) socket?.destroy();
        done(error && dispatcher.toOwnError(error), socket);
      });
    },
    finishRequest: (request: ClientRequest, client: WebSocketClient) => {
      const toOwnError = (error: unknown) => dispatcher.toOwnError(error);
      const shown = (text: string, length: number) => dispatcher.shown(text, length);
      watchHandshake(request, client, { connection, credential, log: dispatcher.log, toOwnError, shown });
      const refusal = foreign ?? dispatcher.fence?.() ?? pathRefusal(dispatcher, request.path);
      if (refusal) request.destroy(refusal);
      else request.end();
    },
  };
}

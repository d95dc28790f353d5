/** What client-node's WebSockets are opened with: a connection that stands already, and a handshake that is watched. */
import type { ClientRequest } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import type { KubeConfig } from '@kubernetes/client-node';
import type { RequestError } from '../errors/index.ts';
import type { Credential } from '../exec/exec-credential.ts';
import { originRefusal, pathRefusal } from './request/bounds.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import type { Connection } from './transport/connection.ts';
import type { Destination } from './transport/destination.ts';
import { WaitingSocket } from './transport/waiting-socket.ts';
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

/** Opens a connection, and gives the options that use it. Rejects with our own error. */
export async function webSocketOptions(
  { dispatcher, connection, credential, server, impersonation }: WebSocketParts,
  headers: HttpsOptions['headers'],
): Promise<object> {
  const { authorization } = credential;
  const connect = connection.webSocketConnector(credential);
  const { protocol, hostname, host, port } = new URL(server);
  const target = { protocol, hostname, host, port: port || (protocol === 'https:' ? '443' : '80') };
  const dial = () =>
    new Promise<Socket>((resolve, reject) => {
      connect(target, (...[error, socket]) => {
        if (error) return reject(dispatcher.toOwnError(error));
        dispatcher.track(socket);
        return resolve(socket);
      });
    });
  // Now, not when the client asks for it: it would wrap the error into an event that does not say what happened.
  let dialled: WaitingSocket | undefined = new WaitingSocket(await dial());
  let foreign: RequestError | undefined;
  return {
    headers: { ...headers, ...impersonation, ...(authorization ? { Authorization: authorization } : {}) },
    createConnection: (asked: { readonly host: string; readonly port: number | string }, done: Connected) => {
      const wanted = `${protocol}//${isIPv6(asked.host) ? `[${asked.host}]` : asked.host}:${asked.port}`;
      if (URL.parse(wanted)?.host === host) {
        const socket = dialled?.take();
        dialled = undefined;
        if (socket) done(null, socket);
        else
          dial().then(
            (another) => done(null, another),
            (error: Error) => done(error, null),
          );
      } else {
        foreign = originRefusal(dispatcher, wanted);
        done(foreign, null);
      }
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

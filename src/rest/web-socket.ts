/** What client-node's WebSockets are opened with: a connection with the credential's certificate, and a handshake that is watched. */
import type { EventEmitter } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { KubeConfig } from '@kubernetes/client-node';
import { RequestError } from '../errors/index.ts';
import type { Credential } from '../exec/credential.ts';
import { bracket } from '../util/hosts.ts';
import { readBeginning } from '../util/printable.ts';
import { readStatus } from './api/api-status.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { originRefusal, pathRefusal, unboundRefusal } from './request/paths.ts';
import type { Connection } from './transport/connection.ts';
import { withoutQuery } from './transport/wire-request.ts';

type HttpsOptions = Parameters<KubeConfig['applyToHTTPSOptions']>[0];
type Connected = (error: Error | null, socket: Socket | null) => void;

/** The options of one WebSocket. */
export function webSocketOptions(handshake: Handshake, headers: HttpsOptions['headers']): object {
  const { dispatcher, connection, credential } = handshake;
  const { authorization } = credential;
  const { protocol, host } = new URL(connection.origin);
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
      // ws before 8.13 and https.get do not call finishRequest: their path has not been checked.
      const refused = () => (isChecked ? undefined : (dispatcher.fence?.() ?? unboundRefusal(dispatcher)));
      connection.openForWebSocket(credential, dispatcher).then(
        (socket) => {
          const refusal = refused();
          if (dispatcher.destroyed || refusal) socket.destroy();
          done(refusal ?? null, socket);
        },
        (error: Error) => done(refused() ?? dispatcher.toOwnError(error), null),
      );
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

/** The part of ws's WebSocket that is used. */
interface WebSocketClient
  extends EventEmitter<{ error: [Error]; open: []; 'unexpected-response': [ClientRequest, IncomingMessage] }> {
  onerror: ((error: unknown) => void) | null;
}

interface Handshake {
  readonly dispatcher: AuthenticatedDispatcher;
  readonly connection: Connection;
  readonly credential: Credential;
}

/** Bytes and milliseconds that the reason of a refusal may take. */
const longestReason = 64 * 1024;
const reasonMs = 1_000;

function watchHandshake(request: ClientRequest, client: WebSocketClient, handshake: Handshake): void {
  const { dispatcher } = handshake;
  // client-node rejects with what its handler is given. ws would give it an event, which prints as [object Object].
  const tell = (error: Error) => client.onerror?.(dispatcher.toOwnError(error));
  client.once('error', tell);
  client.once('open', () => client.off('error', tell));
  request.once('upgrade', () => {
    dispatcher.log.answered();
    dispatcher.log.accepted();
  });
  client.once('unexpected-response', (_request, response) => {
    // The status counts, even if its body cannot be read.
    const { onerror } = client;
    client.onerror = null;
    client.off('error', tell);
    client.on('error', () => undefined);
    refusalOf(request, response, handshake).then((refusal) => {
      onerror?.(refusal);
      request.emit('error', refusal);
      request.destroy();
    });
  });
}

/** The server has answered without a WebSocket. A 401 is not replayed, but the next handshake has the new credential. */
async function refusalOf(request: ClientRequest, response: IncomingMessage, handshake: Handshake): Promise<Error> {
  const { dispatcher, connection, credential } = handshake;
  const { log } = dispatcher;
  const { statusCode = 0, headers } = response;
  const rejected = connection.isRejection(statusCode);
  log.answered();
  if (!rejected) log.accepted();
  const refreshing = rejected ? connection.refresh(credential, statusCode, headers, log) : undefined;
  const reason = await reasonOf(response, dispatcher);
  let next = '';
  if (refreshing) {
    const refreshed = await refreshing;
    next = refreshed ? '; the credential has been refreshed: try again' : '; there is no better credential now';
    log.rejected(credential, statusCode, 'for a WebSocket');
  }
  const path = withoutQuery(request.path);
  const message = `the WebSocket for ${path} was answered with ${statusCode}${reason ? `: ${reason}` : ''}${next}`;
  return new RequestError('UPGRADE_REFUSED', message, { statusCode }).of(log.cluster);
}

/** The message of a `Status`. Whatever else a body holds may be long, or secret. */
async function reasonOf(response: IncomingMessage, dispatcher: AuthenticatedDispatcher): Promise<string | undefined> {
  const timer = setTimeout(() => response.destroy(), reasonMs);
  try {
    const text = (await readBeginning(response, longestReason)).toString();
    return readStatus(text, (given, length) => dispatcher.shown(given, length)).message;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

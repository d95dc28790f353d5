import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Sends RST instead of FIN: what is under TLS can. */
export function reset(socket: TLSSocket): void {
  const below: unknown = Reflect.get(socket, '_parent');
  if (below instanceof Socket && !below.destroyed) below.resetAndDestroy();
}

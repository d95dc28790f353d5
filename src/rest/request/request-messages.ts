/** Messages about a request, for the log. */
import type { Dispatcher } from 'undici';
import type { Credential, KeyPair } from '../../exec/credential.ts';
import { printable } from '../../util/printable.ts';

/** Method and path, without the query. */
export function requestName({ method, path }: Dispatcher.DispatchOptions): string {
  return `${method} ${printable(path.replace(/[?#].*/s, ''), 1_024)}`;
}

/** Says that the server still refuses the credential. `undefined` without one: anonymous requests may well be refused. */
export function refusalMessage(
  credential: Credential | undefined,
  statusCode: number,
  consequence: string,
): string | undefined {
  if (!credential?.authorization && !credential?.keyPair) return undefined;
  const why = lifetimeProblem(credential.keyPair) ?? 'check whether the server knows its issuer and audience';
  return `the server refuses the credential (${statusCode}), ${consequence}: ${why}`;
}

/** Why no server takes a client certificate, where its time says so. */
function lifetimeProblem(keyPair: KeyPair | undefined): string | undefined {
  const now = Date.now();
  const at = (ms: number) => new Date(ms).toISOString();
  if (keyPair && keyPair.endsAt < now) {
    return `its client certificate has expired (at ${at(keyPair.endsAt)}): see why it is not renewed`;
  }
  if (keyPair && keyPair.startsAt > now) {
    return `its client certificate is not valid before ${at(keyPair.startsAt)}: see the clocks of this machine and of the issuer`;
  }
  return undefined;
}

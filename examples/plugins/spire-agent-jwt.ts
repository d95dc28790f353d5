#!/usr/bin/env node
// A credential plugin for SPIFFE: the JWT-SVID that SPIRE's agent gives to this pod. `-audience` names its audience, as in the
// specification's example. SPIRE_AGENT is the path of the agent's program, SPIRE_SOCKET that of its Workload API.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { runCredentialPlugin } from 'clusterprofile-credentials/plugin';

await runCredentialPlugin(async () => {
  const { SPIRE_AGENT: agent = 'spire-agent', SPIRE_SOCKET: socket } = process.env;
  const [option, audience, ...others] = process.argv.slice(2);
  if (option !== '-audience' || !audience || others.length > 0) {
    throw new Error(
      'the arguments have to be -audience and whom the token is for: the profile has them as additional-args',
    );
  }
  const args = ['api', 'fetch', 'jwt', '-audience', audience, ...(socket ? ['-socketPath', socket] : [])];
  const { stdout } = await promisify(execFile)(agent, args);
  // token(spiffe://example.dev/fleet-controller):
  //         eyJ...
  const [, token] = /^token\(.*\):\n\t(\S+)$/m.exec(stdout) ?? [];
  if (!token) throw new Error("SPIRE's agent gave no JWT-SVID: check whether an entry for this pod is registered");
  const { exp }: { exp: number } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return { token, expirationTimestamp: new Date(exp * 1_000) };
});

/** What `oidc-credentials` answers: a token of a file, of Entra, or of an issuer, whose client is loaded only if it is asked. */
import type { CredentialStatus } from '../../plugin/credential-plugin.ts';
import { expiryOfJwt } from '../../util/jwt.ts';
import { tokenOfManagedIdentity, tokenOfWorkloadIdentity } from '../cloud/azure.ts';
import { type GetStatus, readText } from '../program.ts';
import { readSettings } from './settings.ts';

export function oidcCredentials(args: readonly string[]): GetStatus {
  const { source, client, tokenFile, issuer } = readSettings(args);
  if (tokenFile !== undefined) return async () => tokenOfFile(tokenFile);
  if (!issuer) return source === 'azure' ? tokenOfWorkloadIdentity : () => tokenOfManagedIdentity(client);
  return async ({ spec }) => {
    const { tokenOfIssuer } = await import('./issuer.ts');
    return tokenOfIssuer(issuer, spec.cluster?.config);
  };
}

function tokenOfFile(file: string): CredentialStatus {
  const token = readText('--token-file', file);
  const endsAt = expiryOfJwt(token);
  if (endsAt === undefined)
    throw new Error(`--token-file ${file} holds no JWT with an exp claim in seconds since 1970`);
  if (endsAt > Date.now()) return { token, expirationTimestamp: new Date(endsAt) };
  const expired = new Date(endsAt).toISOString();
  throw new Error(
    `--token-file ${file} holds a token that expired at ${expired}: check whether the program that writes it still runs`,
  );
}

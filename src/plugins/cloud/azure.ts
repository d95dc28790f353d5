/** Tokens for AKS clusters: of Entra, with the workload identity of the pod or the managed identity of the machine. */
import type { CredentialStatus } from '../../plugin/credential-plugin.ts';
import { hide } from '../../plugin/plugin-process.ts';
import { readText } from '../program.ts';
import { callMetadata, callService, form, httpsUrl, metadataUrl, statusOf, tokenOf } from './call.ts';

/** The Entra application of AKS' API servers, the same in all clouds. */
const aksServer = '6dae42f8-4368-4678-94ff-3960e28e3630';

/** Of the error codes of Entra (AADSTS...) and of OAuth, the first that is found. */
const advice: readonly (readonly [code: RegExp, advice: string])[] = [
  [
    /AADSTS700024/,
    "the token in AZURE_FEDERATED_TOKEN_FILE is not valid at this time: check this machine's clock, and whether the token is renewed",
  ],
  [
    /AADSTS7002\d{2}/,
    'compare the federated credential of the identity with the issuer, subject and audience of the token',
  ],
  [/AADSTS700016|AADSTS700030/, 'check AZURE_CLIENT_ID and AZURE_TENANT_ID'],
  [/AADSTS9000[23]/, 'check AZURE_TENANT_ID and AZURE_AUTHORITY_HOST'],
  [/AADSTS500011/, 'the tenant has no AKS: check AZURE_TENANT_ID'],
  [/identity.?not.?found/i, 'assign the managed identity to the machine, or correct its client ID'],
  [/invalid_client/, 'check the federated credential of the identity'],
];

/** With the variables that the webhook of Microsoft Entra Workload ID sets. */
export async function tokenOfWorkloadIdentity(): Promise<CredentialStatus> {
  const read = (name: string) => {
    const value = process.env[name];
    if (value) return value;
    const hint = 'the workload identity webhook sets it; a plugin in a clean environment needs it in execConfig.env';
    throw new Error(`${name} is not set: ${hint}`);
  };
  const [client, tenant] = [read('AZURE_CLIENT_ID'), read('AZURE_TENANT_ID')];
  const file = read('AZURE_FEDERATED_TOKEN_FILE');
  const host = httpsUrl(
    'AZURE_AUTHORITY_HOST',
    process.env.AZURE_AUTHORITY_HOST || 'https://login.microsoftonline.com/',
  );
  if (!/^[\w.-]+$/.test(tenant)) throw new Error('AZURE_TENANT_ID must be the ID or the domain of a tenant');
  const assertion = readText('AZURE_FEDERATED_TOKEN_FILE', file);
  hide(assertion);
  const fields = {
    client_id: client,
    client_assertion: assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    grant_type: 'client_credentials',
    scope: `${aksServer}/.default`,
  };
  const base = host.href.replace(/\/*$/, '/');
  const url = new URL(`${tenant}/oauth2/v2.0/token`, base);
  return statusOf(await tokenOf(callService({ url, ...form(fields) }), adviceOn));
}

/** Of IMDS; `client` is the ID of a user-assigned identity. */
export async function tokenOfManagedIdentity(client: string | undefined): Promise<CredentialStatus> {
  const variable = 'AZURE_POD_IDENTITY_AUTHORITY_HOST';
  const url = new URL(
    '/metadata/identity/oauth2/token',
    metadataUrl(variable, process.env[variable], 'http://169.254.169.254'),
  );
  url.search = `${new URLSearchParams({
    'api-version': '2018-02-01',
    resource: aksServer,
    ...(client === undefined ? {} : { client_id: client }),
  })}`;
  const asking = callMetadata({ url, headers: { Metadata: 'true' } }, { isPatient: true });
  return statusOf(await tokenOf(asking, adviceOn));
}

function adviceOn(code: string, message: string): string | undefined {
  return advice.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
}

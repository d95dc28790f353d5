// oidc-credentials for AKS, with Entra and IMDS on loopback. test/e2e/producers-issuers.e2e.ts compares its request with kubelogin's.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { oidcCredentials } from '../../../src/plugins/oidc/token.ts';
import {
  type Answering,
  complains,
  execCredential,
  secondsLeft,
  startMetadata,
  startService,
  withoutIdentity,
} from '../../fixtures/clouds.ts';
import { writeInput } from '../../fixtures/program.ts';
import { setEnvironment } from '../../fixtures/script.ts';

const scope = '6dae42f8-4368-4678-94ff-3960e28e3630';
const assertion = 'header.pod-token.signature';
const run = (...args: string[]) => oidcCredentials(args)(execCredential());
const refusing =
  (error: string, error_description: string, statusCode = 400): Answering =>
  () => ({ statusCode, body: { error, error_description } });

/** What the webhook sets, for an Entra on loopback. */
async function startEntra(t: TestContext, answering: Answering) {
  const entra = await startService(t, answering);
  withoutIdentity(t, {
    AZURE_CLIENT_ID: 'the-client',
    AZURE_TENANT_ID: 'the-tenant',
    AZURE_AUTHORITY_HOST: entra.url,
    AZURE_FEDERATED_TOKEN_FILE: await writeInput(t, 'token', `${assertion}\n`),
  });
  return entra;
}

describe('oidc-credentials --azure', () => {
  test("asks the tenant for the application of AKS' API servers, with the token that the webhook projects", async (t) => {
    const entra = await startEntra(t, () => ({ body: { access_token: 'aks-token', expires_in: 3_599 } }));
    const status = await run('--azure');
    assert.equal(status.token, 'aks-token');
    assert.ok(secondsLeft(status) > 3_500 && secondsLeft(status) <= 3_599);
    const [{ method, url, form } = assert.fail()] = entra.requests;
    assert.deepEqual([method, url], ['POST', '/the-tenant/oauth2/v2.0/token']);
    assert.deepEqual(form, {
      client_id: 'the-client',
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      grant_type: 'client_credentials',
      scope: `${scope}/.default`,
    });
  });

  test('says what Entra refuses, what to do, and nothing that was sent', async (t) => {
    const entra = await startEntra(t, () => ({}));
    for (const [answering, complaint] of [
      [
        refusing(
          'invalid_client',
          `AADSTS700024: Client assertion is not within its valid time range.\r\nTrace ID: ${assertion}`,
          401,
        ),
        /^127\.0\.0\.1:\d+ answered 401 \(invalid_client: AADSTS700024: Client assertion is not within its valid time range\.\); the token .* check this machine's clock/,
      ],
      [
        refusing('invalid_client', 'AADSTS700213: No matching federated identity record'),
        /compare the federated credential/,
      ],
      [
        refusing('unauthorized_client', 'AADSTS700016: Application not found'),
        /check AZURE_CLIENT_ID and AZURE_TENANT_ID$/,
      ],
      [refusing('invalid_request', 'AADSTS90002: Tenant not found'), /check AZURE_TENANT_ID and AZURE_AUTHORITY_HOST$/],
      [
        () => ({ body: { expires_in: 1 } }),
        /answered 200; that is not the documented answer: check which server this is$/,
      ],
      [() => ({ statusCode: 404, body: `<html>${assertion}` }), /answered 404$/],
    ] as const) {
      entra.answer(answering);
      await complains(() => run('--azure'), complaint, [assertion]);
    }
    entra.answer(refusing('temporarily_unavailable', 'busy', 503));
    await complains(() => run('--azure'), /answered 503 .*; try again later$/);
    assert.equal(entra.requests.length, 9);
  });

  test('names the variable that is missing or wrong', async (t) => {
    await startEntra(t, () => ({}));
    setEnvironment(t, { AZURE_AUTHORITY_HOST: 'http://login.example' });
    await complains(() => run('--azure'), /^AZURE_AUTHORITY_HOST must be an https:\/\/ URL/);
    setEnvironment(t, { AZURE_AUTHORITY_HOST: '', AZURE_TENANT_ID: '../x' });
    await complains(() => run('--azure'), /^AZURE_TENANT_ID must be the ID or the domain of a tenant$/);
    setEnvironment(t, { AZURE_TENANT_ID: undefined });
    await complains(() => run('--azure'), /^AZURE_TENANT_ID is not set: the workload identity webhook sets it/);
  });
});

describe('oidc-credentials --azure-managed-identity', () => {
  test('asks IMDS, for the identity of the machine or for one that is assigned to it', async (t) => {
    const imds = await startMetadata(t, () => ({ body: { access_token: 'aks-token', expires_in: '86399' } }));
    withoutIdentity(t, { AZURE_POD_IDENTITY_AUTHORITY_HOST: imds.url, HTTP_PROXY: 'http://127.0.0.1:9' });
    const option = '--azure-managed-identity';
    for (const args of [[option], [option, 'the-client'], [`${option}=the-client`]]) {
      const status = await run(...args);
      assert.equal(status.token, 'aks-token');
      assert.ok(secondsLeft(status) > 86_000);
    }
    const query = `/metadata/identity/oauth2/token?api-version=2018-02-01&resource=${scope}`;
    const urls = [query, `${query}&client_id=the-client`, `${query}&client_id=the-client`];
    assert.deepEqual(
      imds.requests.map(({ url }) => url),
      urls,
    );
    assert.ok(imds.requests.every(({ headers }) => headers.metadata === 'true'));
    imds.answer(refusing('invalid_request', 'Identity not found'));
    await complains(() => run('--azure-managed-identity', 'x'), /assign the managed identity to the machine/);
    imds.answer(() => undefined);
    await complains(() => run('--azure-managed-identity'), /has not answered within 2 s$/);
  });
});

// Tokens of issuers that a real API server trusts: oidc-credentials', beside kubelogin's for AKS, gke-credentials' and SPIRE's. docs/recipes/aks.md, gke.md, oidc.md, spiffe.md.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { startMetadata } from '../fixtures/clouds.ts';
import { type Issuer, type IssuerClient, startIssuer } from '../fixtures/issuer.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import type { ControlPlane } from './control-plane.ts';
import { accessBy, clusterOf, dist, lifetimeOf, serviceAccount, startPlane } from './fixture.ts';
import { authenticationFlag, configurationOf, type TrustedIssuer, untilTrusted } from './producers/authentication.ts';
import { startInternet } from './producers/internet.ts';
import { producer, profileOf, startRecipe, whoUnderBoth } from './producers/recipe.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tenant = '00000000-0000-0000-0000-000000000002';
const entraClient = '00000000-0000-0000-0000-000000000001';
/** The application of every AKS cluster with Entra ID. */
const aks = '6dae42f8-4368-4678-94ff-3960e28e3630';
const login = 'login.microsoftonline.com';
const audience = 'https://spoke-1.clusters.example.dev';

describe('issuers that an API server trusts', () => {
  const life = lifetimeOf({ after });
  /** The pod's cluster and the spoke are one here: its issuer signs the controller's projected tokens. */
  let plane: ControlPlane;
  let internet: Awaited<ReturnType<typeof startInternet>>;
  let spire: TrustedIssuer;
  let entra: Issuer;
  const entraClients: Record<string, IssuerClient> = {};
  const clients: Record<string, IssuerClient> = {};

  before(async (t) => {
    internet = await startInternet(life);
    entra = await startIssuer(life, entraClients, {
      path: `/${tenant}/v2.0`,
      tokenPath: `/${tenant}/oauth2/v2.0/token`,
      host: login,
      authority: internet.authority,
      documents: {
        '/common/discovery/instance': {
          'api-version': '1.1',
          tenant_discovery_endpoint: `https://${login}/${tenant}/v2.0/.well-known/openid-configuration`,
          metadata: [{ preferred_network: login, preferred_cache: login, aliases: [login] }],
        },
      },
    });
    internet.lead(login, entra.port);
    const oidc = await configurationOf('oidc');
    const generic = await startIssuer(life, clients, { host: oidc.host, authority: internet.authority });
    internet.lead(oidc.host, generic.port);
    const spiffe = await configurationOf('spiffe');
    spire = { ...spiffe, issuer: await startIssuer(life, {}, { host: spiffe.host }) };
    const trusted: readonly TrustedIssuer[] = [
      { issuer: entra, audiences: [aks], prefix: 'entra:' },
      { ...oidc, issuer: generic },
      spire,
    ];
    plane = await startPlane(life, 'issuers', [await authenticationFlag(life, trusted)]);
    for (const issuer of trusted) await untilTrusted(t, plane, issuer);
  });

  /** A projected token of the controller's service account, in a file, and how an issuer trusts it. */
  async function projectedToken(t: TestContext, audienceOfIssuer: string) {
    const core = plane.admin.makeApiClient(CoreV1Api);
    const name = `controller-${audienceOfIssuer.replace(/\W+/g, '-').toLowerCase()}`;
    await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name } } });
    const mint = async (audiences: string[]) => {
      const body = { spec: { audiences, expirationSeconds: 600 } };
      const { status } = await core.createNamespacedServiceAccountToken({ name, namespace: 'default', body });
      return status?.token ?? '';
    };
    const file = join(await temporaryFolder(t), 'token');
    const write = async (audiences: string[]) => writeFile(file, await mint(audiences));
    await write([audienceOfIssuer]);
    const trusts = {
      issuer: 'https://kubernetes.default.svc',
      subject: `system:serviceaccount:default:${name}`,
      audience: audienceOfIssuer,
      jwksUrl: new URL(`${plane.server}/openid/v1/jwks`),
      ca: plane.certificateAuthority.certificate,
      authorization: `Bearer ${await mint(['https://kubernetes.default.svc'])}`,
    };
    return { file, write, trusts };
  }

  /** A recipe of oidc-credentials. */
  function startOidc(t: TestContext, page: string, files: Readonly<Record<string, string>>) {
    const { HTTPS_PROXY, SSL_CERT_FILE } = internet.env;
    const env = { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: SSL_CERT_FILE };
    const command = dist('plugins/oidc-credentials.js');
    return startRecipe(t, page, { command, files, env, servers: [plane.server] });
  }

  test('oidc-credentials --azure proves who it is by workload identity, with the request of kubelogin', async (t) => {
    const { file, write, trusts } = await projectedToken(t, 'api://AzureADTokenExchange');
    entraClients[entraClient] = { trusts };
    const recipe = await startOidc(t, 'aks', { '/var/run/secrets/azure/tokens/azure-identity-token': file });
    const profile = await profileOf('aks', plane);
    const config = recipe.providers.getConfig(profile);
    assert.equal(await whoUnderBoth(t, config), `entra:${entraClient}`);
    assert.equal(await recipe.identify(profile), `entra:${entraClient}`);

    const ours = Object.fromEntries(entra.requests.at(-1) ?? []);
    const variables = {
      AZURE_CLIENT_ID: entraClient,
      AZURE_TENANT_ID: tenant,
      AZURE_AUTHORITY_HOST: `https://${login}/`,
      AZURE_FEDERATED_TOKEN_FILE: file,
    };
    const args = ['get-token', '--login', 'workloadidentity', '--server-id', aks];
    const env = { ...internet.env, ...variables, HOME: await temporaryFolder(t) };
    await execa(producer('kubelogin'), args, { env, extendEnv: false });
    // What MSAL adds: scopes that are for users, and what the client wants to know of them.
    const { client_info, scope = '', ...theirs } = Object.fromEntries(entra.requests.at(-1) ?? []);
    assert.deepEqual({ ...theirs, scope: scope.split(' ').find((one) => one.endsWith('/.default')) }, ours);
    assert.ok(['1', undefined].includes(client_info), client_info);

    await write(['another audience']);
    config.invalidate();
    await assert.rejects(config.ready(), /invalid_client/);
    await recipe.isShown(profile);
  });

  test('oidc-credentials proves who it is with its projected token, for the cluster that the profile names', async (t) => {
    const { file, write, trusts } = await projectedToken(t, 'https://issuer.example.dev');
    clients['fleet-controller'] = { trusts };
    const recipe = await startOidc(t, 'oidc', { '/var/run/secrets/issuer.example.dev/token': file });
    const profileFor = (named: string) => {
      const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: named } }];
      return { status: accessBy('oidc', { ...clusterOf(plane), extensions }) };
    };
    const config = (named: string) => recipe.providers.getConfig(profileFor(named));
    assert.equal(await whoUnderBoth(t, config(audience)), 'oidc:fleet-controller');
    // The issuer gives a token for another cluster, which this one refuses.
    await assert.rejects(whoUnderBoth(t, config('https://spoke-2.clusters.example.dev')), { code: 401 });
    await assert.rejects(config('https://evil.example').ready(), /may name only https:\/\/\*\.clusters/);
    for (const other of ['https://spoke-2.clusters.example.dev', 'https://evil.example']) {
      await recipe.isShown(profileFor(other));
    }
    assert.equal(await recipe.identify(profileFor(audience)), 'oidc:fleet-controller');
    await write(['another audience']);
    const again = config(audience);
    again.invalidate();
    await assert.rejects(again.ready(), /answered 401 \(invalid_client: .*check whether --client-id/);
    await recipe.isShown(profileFor(audience));
  });

  test("the example for SPIFFE takes what SPIRE's agent prints; the agent is a stand-in that prints as its source does", async (t) => {
    const folder = await temporaryFolder(t);
    const token = await spire.issuer.sign({ sub: 'spiffe://example.dev/fleet-controller', aud: audience });
    const agent = join(folder, 'spire-agent');
    const print = `token(spiffe://example.dev/fleet-controller):\\n\\t%s\\nbundle(spiffe://example.dev):\\n\\t{"keys":[]}\\n`;
    const isAsked = `[ "$*" = "api fetch jwt -audience ${audience} -socketPath /run/spire/agent-sockets/api.sock" ]`;
    await writeFile(agent, `#!/bin/sh\n${isAsked} || exit 2\nprintf '${print}' '${token}'\n`, { mode: 0o755 });
    const command = join(root, 'examples/plugins/spire-agent-jwt.ts');
    const recipe = await startRecipe(t, 'spiffe', {
      command,
      files: { '/plugins/spire-agent': agent },
      servers: [plane.server],
    });
    const extension = ['-audience', audience];
    const extensions = [{ name: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args', extension }];
    const profile = { status: accessBy('spire-agent', { ...clusterOf(plane), extensions }) };
    const name = 'spire:spiffe://example.dev/fleet-controller';
    assert.equal(await whoUnderBoth(t, recipe.providers.getConfig(profile)), name);
    assert.equal(await recipe.identify(profile), name);
    await writeFile(agent, '#!/bin/sh\n', { mode: 0o755 });
    await recipe.isShown(profile);
  });

  test("gke-credentials gives the metadata server's token to the clusters of its recipe, and to no other", async (t) => {
    const { mint } = await serviceAccount(plane, 'google');
    const body = { access_token: await mint(), expires_in: 600, token_type: 'Bearer' };
    const metadata = await startMetadata(t, () => ({ body, headers: { 'Metadata-Flavor': 'Google' } }));
    const command = dist('plugins/gke-credentials.js');
    const { host } = new URL(metadata.url);
    const recipe = await startRecipe(t, 'gke', {
      command,
      files: { '169.254.169.254': host },
      // Metadata is not asked for through a proxy, whatever Node itself would do.
      env: { GCE_METADATA_HOST: host, HTTP_PROXY: 'http://127.0.0.1:9', NODE_USE_ENV_PROXY: '1' },
      servers: [plane.server],
    });
    const profile = await profileOf('gke-fleet', plane);
    assert.equal(await whoUnderBoth(t, recipe.providers.getConfig(profile)), 'system:serviceaccount:default:google');
    assert.equal(await recipe.identify(profile), 'system:serviceaccount:default:google');
    metadata.answer(() => ({ statusCode: 404, headers: { 'Metadata-Flavor': 'Google' } }));
    await recipe.isShown(profile);
    await recipe.isShown(
      await profileOf('gke-fleet', plane, {
        server: 'https://connectgateway.googleapis.com/v1/projects/999999999999/x',
      }),
    );
  });
});

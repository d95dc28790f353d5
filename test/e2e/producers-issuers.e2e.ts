// Tokens of issuers that a real API server trusts: kubelogin, oidc-credentials and SPIRE's. docs/recipes/aks.md, oidc.md, spiffe.md.
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoreV1Api } from '@kubernetes/client-node';
import { type IssuerClient, startIssuer } from '../fixtures/issuer.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import type { ControlPlane } from './control-plane.ts';
import { allow, startPlane } from './fixture.ts';
import { record } from './ledger.ts';
import { authenticationFlag, type TrustedIssuer, untilTrusted } from './producers/authentication.ts';
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
  const stack = new AsyncDisposableStack();
  const life = { after: (end: () => unknown) => stack.defer(async () => void (await end())) };
  after(() => stack.disposeAsync());
  /** The pod's cluster and the spoke are one here: its issuer signs the controller's projected tokens. */
  let plane: ControlPlane;
  let internet: Awaited<ReturnType<typeof startInternet>>;
  let spire: TrustedIssuer;
  const entraClients: Record<string, IssuerClient> = {};
  const clients: Record<string, IssuerClient> = {};

  before(async (t) => {
    internet = await startInternet(life);
    const entra = await startIssuer(life, entraClients, {
      path: `/${tenant}/v2.0`,
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
    const generic = await startIssuer(life, clients, { host: 'issuer.example.dev', authority: internet.authority });
    internet.lead('issuer.example.dev', generic.port);
    spire = {
      issuer: await startIssuer(life, {}, { host: 'spire.example.dev' }),
      audiences: [audience],
      prefix: 'spire:',
    };
    const trusted: readonly TrustedIssuer[] = [
      { issuer: entra, audiences: [aks], prefix: 'entra:' },
      { issuer: generic, audiences: [audience], prefix: 'oidc:' },
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

  test('kubelogin proves who it is by workload identity, and says what Entra refuses', async (t) => {
    const { file, write, trusts } = await projectedToken(t, 'api://AzureADTokenExchange');
    entraClients[entraClient] = { trusts };
    const providers = await startRecipe(t, 'deploy/aks/providers.yaml', {
      command: producer('kubelogin'),
      files: { '/var/run/secrets/azure/tokens/azure-identity-token': file },
      env: internet.env,
      servers: [plane.server],
    });
    const profile = await profileOf('kubefleet', plane);
    const [access] = profile.status?.accessProviders ?? [];
    assert.ok(access);
    const config = providers.getConfig({ ...profile, status: { accessProviders: [{ ...access, name: 'kubelogin' }] } });
    assert.equal(await whoUnderBoth(t, config), `entra:${entraClient}`);

    await write(['another audience']);
    config.invalidate();
    await assert.rejects(config.ready(), /invalid_client/);
  });

  test('oidc-credentials proves who it is with its projected token, for the cluster that the profile names', async (t) => {
    const { file, write, trusts } = await projectedToken(t, 'https://issuer.example.dev');
    clients['fleet-controller'] = { trusts };
    const command = join(root, 'dist/plugins/oidc-credentials.js');
    await chmod(command, 0o755);
    const { HTTPS_PROXY, SSL_CERT_FILE } = internet.env;
    const providers = await startRecipe(t, 'deploy/oidc/providers.yaml', {
      command,
      files: { '/var/run/secrets/issuer.example.dev/token': file },
      env: { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: SSL_CERT_FILE },
      servers: [plane.server],
    });
    const config = async (named: string) => {
      const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: named } }];
      const cluster = {
        server: plane.server,
        'certificate-authority-data': plane.certificateAuthorityData,
        extensions,
      };
      return providers.getConfig({ status: { accessProviders: [{ name: 'oidc', cluster }] } });
    };
    assert.equal(await whoUnderBoth(t, await config(audience)), 'oidc:fleet-controller');
    // The issuer gives a token for another cluster, which this one refuses.
    await assert.rejects(whoUnderBoth(t, await config('https://spoke-2.clusters.example.dev')), { code: 401 });
    await assert.rejects((await config('https://evil.example')).ready(), /may name only https:\/\/\*\.clusters/);
    await write(['another audience']);
    const again = await config(audience);
    again.invalidate();
    await assert.rejects(again.ready(), /answered 401 \(invalid_client: .*see whether --client-id/);
  });

  test("the example for SPIFFE takes what SPIRE's agent prints; the agent is a stand-in that prints as its source does", async (t) => {
    const folder = await temporaryFolder(t);
    const token = await spire.issuer.sign({ sub: 'spiffe://example.dev/fleet-controller', aud: audience });
    const agent = join(folder, 'spire-agent');
    const print = `token(spiffe://example.dev/fleet-controller):\\n\\t%s\\nbundle(spiffe://example.dev):\\n\\t{"keys":[]}\\n`;
    const isAsked = `[ "$*" = "api fetch jwt -audience ${audience} -socketPath /run/spire/agent-sockets/api.sock" ]`;
    await writeFile(agent, `#!/bin/sh\n${isAsked} || exit 2\nprintf '${print}' '${token}'\n`, { mode: 0o755 });
    const command = join(root, 'examples/plugins/spire-agent-jwt.ts');
    await chmod(command, 0o755);
    const providers = await startRecipe(t, 'deploy/spiffe/providers.yaml', {
      command,
      files: { '/plugins/spire-agent': agent },
      servers: [plane.server],
    });
    const extension = ['-audience', audience];
    const extensions = [{ name: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args', extension }];
    const cluster = { server: plane.server, 'certificate-authority-data': plane.certificateAuthorityData, extensions };
    const config = providers.getConfig({ status: { accessProviders: [{ name: 'spire-agent', cluster }] } });
    assert.equal(await whoUnderBoth(t, config), 'spire:spiffe://example.dev/fleet-controller');
    record("stand-in for SPIRE's agent: it is not built here");
  });

  test('the recipe of GKE takes what gke-gcloud-auth-plugin prints; the plugin is a stand-in that prints as its source does', async (t) => {
    const core = plane.admin.makeApiClient(CoreV1Api);
    await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name: 'google' } } });
    await allow(plane, { kind: 'ServiceAccount', name: 'google' });
    const body = { spec: { audiences: ['https://kubernetes.default.svc'], expirationSeconds: 600 } };
    const { status } = await core.createNamespacedServiceAccountToken({ name: 'google', namespace: 'default', body });
    const expirationTimestamp = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    // Go's MarshalIndent with four spaces, v1beta1 whatever is asked, and no line break at the end.
    const answer = JSON.stringify(
      {
        kind: 'ExecCredential',
        apiVersion: 'client.authentication.k8s.io/v1beta1',
        spec: { interactive: false },
        status: { expirationTimestamp, token: status?.token },
      },
      null,
      4,
    );
    const command = join(await temporaryFolder(t), 'gke-gcloud-auth-plugin');
    const isAsked = '[ "$*" = --use_application_default_credentials ]';
    await writeFile(command, `#!/bin/sh\n${isAsked} || exit 2\nprintf '%s' '${answer}'\n`, { mode: 0o755 });
    const providers = await startRecipe(t, 'deploy/gke/providers.yaml', { command, servers: [plane.server] });
    const config = providers.getConfig(await profileOf('gke-fleet', plane));
    assert.equal(await whoUnderBoth(t, config), 'system:serviceaccount:default:google');
    record('stand-in for gke-gcloud-auth-plugin: it cannot be built here');
  });
});

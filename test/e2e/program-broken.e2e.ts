// Clusters that are broken, each in another way: `clusterprofile check` alone finds the cause, with the defaults.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer, request as httpsRequest } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { type JWTPayload, SignJWT } from 'jose';
import type { Stage, StageName } from '../../src/diagnose/index.ts';
import { createCertificateAuthority, type IssuedCertificate, type PluginAnswer } from '../../src/testing/index.ts';
import { listen } from '../fixtures/listen.ts';
import { programEnvironment, programFile, writeInput } from '../fixtures/program.ts';
import { startHttpProxy, startRawServer } from '../fixtures/proxies.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { startTlsServer } from '../fixtures/tls-server.ts';
import { type ControlPlane, freePort } from './control-plane.ts';
import { publish, registerCrd } from './crd.ts';
import { clusterOf, kubeconfigText, type Lifetime, lifetimeOf, serviceAccount, startPlane } from './fixture.ts';

/** The stage, the code of the library's error if it is one, and what the message, the next step or a warning says. */
type Cause = readonly [stage: StageName, code: string | undefined, says: RegExp];

const causes = {
  // The profile.
  'no-status': ['profile', 'NO_MATCHING_PROVIDER', /status: is missing: the cluster manager/],
  'no-cluster': ['profile', 'CLUSTER_INVALID', /accessProviders\[0\]/],
  unhealthy: ['profile', 'CONTROL_PLANE_UNHEALTHY', /ControlPlaneHealthy is False \(Down: no nodes\)/],
  'authority-unreadable': ['profile', 'CA_INVALID', /certificate-authority-data/],
  // The operator's rules.
  'type-unknown': ['provider', 'NO_MATCHING_PROVIDER', /offers azure \(configured: /],
  'server-in-the-clear': ['provider', 'SERVER_INSECURE', /http:/],
  'server-not-allowed': ['provider', 'SERVER_NOT_ALLOWED', /allowedServers/],
  'argument-not-allowed': ['provider', 'ARG_NOT_ALLOWED', /allowedArgs/],
  'variable-not-allowed': ['provider', 'ENV_NOT_ALLOWED', /LD_PRELOAD/],
  // The plugin.
  'plugin-missing': ['plugin', 'PLUGIN_NOT_FOUND', /install it with: apt/],
  'plugin-not-executable': ['plugin', 'PLUGIN_NOT_EXECUTABLE', /chmod/],
  'plugin-fails': ['plugin', 'PLUGIN_FAILED', /exit code 3\nstderr: no such project/],
  'plugin-hangs': ['plugin', 'PLUGIN_TIMEOUT', /gave no answer within .*\nstderr: waiting for the login/],
  'plugin-prints-text': ['plugin', 'ANSWER_UNPARSABLE', /logs belong on stderr/],
  'plugin-of-another-version': ['plugin', 'ANSWER_WRONG_VERSION', /v1beta1/],
  'plugin-without-key': ['plugin', 'ANSWER_HALF_PAIR', /certificate but no key/],
  'answer-over': ['plugin', undefined, /has expired already, .* ago \(expirationTimestamp: .*\n.*whether the clock/s],
  'token-expired': ['plugin', undefined, /has expired already, .* ago \(the token's exp: /],
  'token-ends-soon': ['plugin', undefined, /the token ends in .* no expirationTimestamp/],
  // The way to the server.
  'proxy-refuses': ['proxy', 'PROXY_FAILED', /403/],
  'proxy-wants-login': ['proxy', 'PROXY_AUTH_REQUIRED', /a profile cannot hold one.*set HTTPS_PROXY/s],
  'proxy-missing': ['proxy', 'PROXY_FAILED', /ECONNREFUSED/],
  'host-unknown': ['connection', 'HOST_NOT_FOUND', /host name does not resolve.*DNS/],
  'port-closed': ['connection', 'CONNECT_FAILED', /ECONNREFUSED/],
  'port-silent': ['connection', 'CONNECT_TIMEOUT', /does not answer.*firewall/],
  'server-paused': ['connection', 'CONNECT_TIMEOUT', /check whether the server runs/],
  'port-without-tls': ['connection', 'TLS_FAILED', /does not speak TLS/],
  'authority-of-another-cluster': ['connection', 'TLS_UNTRUSTED', /certificate-authority-data/],
  'name-of-another-server': ['connection', 'TLS_NAME_MISMATCH', /kubernetes\.default\.svc/],
  'certificate-expired': ['connection', 'TLS_EXPIRED', /renew/],
  // The API server's answers.
  'no-api-server': ['authentication', undefined, /does not answer as a Kubernetes API server does \(status 200\)/],
  'page-forbidden': ['authentication', undefined, /status 403: a web page, "Access denied".*gateway or firewall/s],
  'page-bad-gateway': ['authentication', undefined, /status 502: a web page, "502 Bad Gateway".*log of the gateway/s],
  redirect: ['authentication', undefined, /redirects to https:\/\/sso\.example\/login \(status 302\)/],
  'balancer-drops-header': ['authentication', undefined, /did not arrive.*drops the Authorization header/s],
  'balancer-ends-tls': ['authentication', undefined, /did not arrive.*ends TLS, and the client certificate with it/s],
  'token-of-another-issuer': ['authentication', undefined, /iss https:\/\/other\.example;/],
  'token-for-another-audience': ['authentication', undefined, /aud vault;.*\n.*the audience looks wrong/],
  'client-certificate-of-another-authority': [
    'authentication',
    undefined,
    /of controller, by other-ca.*\n.*trusts other-ca/,
  ],
  'path-wrong': ['version', undefined, /status 404.*the path of server/s],
  'etcd-stopped': ['ready', undefined, /\[-\]etcd/],
  // A warning: only the operator knows which rights the controller needs (--can-i).
  'no-rights': ['permissions', undefined, /no role allows this identity anything/],
} satisfies Readonly<Record<string, Cause>>;
type Name = keyof typeof causes | 'healthy';

/** What a cluster manager publishes, and the provider that is configured for it, if it is not that of the healthy cluster. */
interface Published {
  readonly type?: string;
  readonly cluster?: object;
  readonly conditions?: readonly object[];
}

const pem = (text: string) => Buffer.from(text).toString('base64');
const extension = (name: string, value: unknown) => ({
  extensions: [{ name: `clusterprofiles.multicluster.x-k8s.io/exec/${name}`, extension: value }],
});

/** A spoke that takes the tokens of an issuer of the test's. */
async function startSpoke(t: TestContext, life: Lifetime) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = await writeInput(t, 'issuer.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString());
  const plane = await startPlane(life, 'spoke', [`--service-account-key-file=${keyFile}`]);
  const { mint } = await serviceAccount(plane, 'controller');
  const sign = (claims: JWTPayload) =>
    new SignJWT({ sub: 'system:serviceaccount:default:controller', ...claims })
      .setProtectedHeader({ alg: 'RS256' })
      .sign(privateKey);
  return { plane, mint, sign };
}

/** A token of a new identity, which no role is bound to. */
async function tokenOf(plane: ControlPlane, name: string, audiences: readonly string[]): Promise<string> {
  const core = plane.admin.makeApiClient(CoreV1Api);
  await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name } } });
  const body = { spec: { audiences: [...audiences], expirationSeconds: 86_400 } };
  const { status } = await core.createNamespacedServiceAccountToken({ name, namespace: 'default', body });
  return status?.token ?? '';
}

/** The path of a plugin for each access type. */
async function writePlugins(t: TestContext, { plane, mint, sign }: Awaited<ReturnType<typeof startSpoke>>) {
  const shell = async (code: string) => (await shellPlugin(t, code)).command;
  const gives = (status: PluginAnswer) => shell(print(status));
  const [iss, now] = ['https://kubernetes.default.svc', Math.floor(Date.now() / 1_000)];
  const foreign = createCertificateAuthority('other-ca').issue({ commonName: 'controller', client: true });
  const notExecutable = await shell(':');
  await chmod(notExecutable, 0o644);
  return {
    works: await gives({ token: await mint() }),
    missing: '/opt/plugins/missing-plugin',
    'not-executable': notExecutable,
    fails: await shell('echo "no such project" >&2; exit 3'),
    hangs: await shell('echo "waiting for the login" >&2; exec sleep 300'),
    'prints-text': await shell('echo token-1'),
    'other-version': await shell(print({ token: 'a' }, { apiVersion: 'client.authentication.k8s.io/v1beta1' })),
    'without-key': await gives({ clientCertificateData: foreign.certificate }),
    'foreign-pair': await gives({ clientCertificateData: foreign.certificate, clientKeyData: foreign.key }),
    expired: await gives({ token: await sign({ iss, aud: iss, exp: now - 3_600 }) }),
    over: await gives({ token: await mint(), expirationTimestamp: new Date(Date.now() - 3_600_000).toISOString() }),
    'ends-soon': await gives({ token: await mint() }),
    'other-issuer': await gives({ token: await sign({ iss: 'https://other.example', aud: iss, exp: now + 3_600 }) }),
    'other-audience': await gives({ token: await tokenOf(plane, 'vault-client', ['vault']) }),
    'no-rights': await gives({ token: await tokenOf(plane, 'nobody', [iss]) }),
  };
}

/** Servers that are no API server, by their ports. */
async function startOthers(t: TestContext, plane: ControlPlane) {
  const authority = createCertificateAuthority('other-ca');
  const ended = { notBefore: new Date(Date.now() - 7_200_000), notAfter: new Date(Date.now() - 3_600_000) };
  const issue = (times = {}): IssuedCertificate =>
    authority.issue({ commonName: 'other', ipAddresses: ['127.0.0.1'], ...times });
  const { certificate: cert, key } = issue();
  const page = async (status: number, body: string, headers = {}) => {
    const server = createHttpsServer(
      { cert, key },
      (_, response) => void response.writeHead(status, headers).end(body),
    );
    return at((await listen(t, server)).port);
  };
  // In front of an API server: it ends TLS, and passes requests on without their credential.
  const balancer = createHttpsServer({ cert, key }, (request, response) => {
    const { authorization: _, ...headers } = request.headers;
    const options = { method: request.method, headers, rejectUnauthorized: false };
    request.pipe(
      httpsRequest(`${plane.server}${request.url}`, options, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  const clear = await listen(
    t,
    createHttpServer((_, response) => void response.end('<html></html>')),
  );
  const expired = await startTlsServer(t, issue(ended));
  const silent = await startRawServer(t, () => {});
  const [refuses, locked] = [await startHttpProxy(t, { refuse: 403 }), await startHttpProxy(t, { refuse: 407 })];
  const at = (port: number) => ({
    server: `https://127.0.0.1:${port}`,
    'certificate-authority-data': pem(authority.certificate),
  });
  return {
    page: await page(200, '<html></html>'),
    forbidden: await page(403, '<html><title>Access denied</title>'),
    gateway: await page(502, '<html><title>502 Bad Gateway</title>'),
    redirect: await page(302, '', { location: 'https://sso.example/login?state=1' }),
    balancer: at((await listen(t, balancer)).port),
    lockedProxy: locked.url,
    clear: at(clear.port),
    expired: at(expired.port),
    silent: at(silent),
    nobody: at(await freePort()),
    refusingProxy: refuses.url,
    missingProxy: `http://127.0.0.1:${await freePort()}`,
  };
}

describe(`an operator with a healthy cluster among ${Object.keys(causes).length} that are broken in different ways`, () => {
  test('is told the cause of each by check alone', async (t) => {
    const life = lifetimeOf(t);
    const [hub, spoke, paused, withoutEtcd] = await Promise.all([
      startPlane(life, 'hub'),
      startSpoke(t, life),
      startPlane(life, 'paused'),
      startPlane(life, 'without-etcd'),
    ]);
    await registerCrd(hub);
    const [plugins, others] = await Promise.all([writePlugins(t, spoke), startOthers(t, spoke.plane)]);
    const good = clusterOf(spoke.plane);
    const ownToken = await (await serviceAccount(withoutEtcd, 'controller')).mint();
    const type = (name: keyof typeof plugins): Published => ({ type: name, cluster: good });
    const at = (fields: object): Published => ({ cluster: { ...good, ...fields } });
    const down = { type: 'ControlPlaneHealthy', status: 'False', reason: 'Down', message: 'no nodes' };
    const published: Readonly<Record<Name, Published | undefined>> = {
      healthy: { cluster: good },
      'no-status': undefined,
      'no-cluster': {},
      unhealthy: { cluster: good, conditions: [{ ...down, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
      'authority-unreadable': at({ 'certificate-authority-data': pem('no certificate') }),
      'type-unknown': { type: 'azure', cluster: good },
      'server-in-the-clear': { cluster: { server: 'http://127.0.0.1:8080' } },
      'server-not-allowed': { type: 'guarded', cluster: { ...good, server: 'https://elsewhere.example' } },
      'argument-not-allowed': { type: 'guarded', cluster: { ...good, ...extension('additional-args', ['--debug']) } },
      'variable-not-allowed': {
        type: 'guarded',
        cluster: { ...good, ...extension('additional-envs', { LD_PRELOAD: '/tmp/x.so' }) },
      },
      'plugin-missing': type('missing'),
      'plugin-not-executable': type('not-executable'),
      'plugin-fails': type('fails'),
      'plugin-hangs': type('hangs'),
      'plugin-prints-text': type('prints-text'),
      'plugin-of-another-version': type('other-version'),
      'plugin-without-key': type('without-key'),
      'proxy-refuses': at({ 'proxy-url': others.refusingProxy }),
      'proxy-wants-login': at({ 'proxy-url': others.lockedProxy }),
      'proxy-missing': at({ 'proxy-url': others.missingProxy }),
      'host-unknown': at({ server: 'https://spoke.invalid' }),
      'port-closed': { cluster: others.nobody },
      'port-silent': { cluster: others.silent },
      'server-paused': { cluster: clusterOf(paused) },
      'port-without-tls': { cluster: others.clear },
      'authority-of-another-cluster': at({ 'certificate-authority-data': hub.certificateAuthorityData }),
      'name-of-another-server': at({ 'tls-server-name': 'spoke.example' }),
      'certificate-expired': { cluster: others.expired },
      'no-api-server': { cluster: others.page },
      'page-forbidden': { cluster: others.forbidden },
      'page-bad-gateway': { cluster: others.gateway },
      redirect: { cluster: others.redirect },
      'balancer-drops-header': { cluster: others.balancer },
      'balancer-ends-tls': { type: 'foreign-pair', cluster: others.balancer },
      'answer-over': type('over'),
      'token-ends-soon': type('ends-soon'),
      'token-expired': type('expired'),
      'token-of-another-issuer': type('other-issuer'),
      'token-for-another-audience': type('other-audience'),
      'client-certificate-of-another-authority': type('foreign-pair'),
      'path-wrong': at({ server: `${good.server}/clusters/gone` }),
      'etcd-stopped': { type: 'own', cluster: clusterOf(withoutEtcd) },
      'no-rights': type('no-rights'),
    };
    const statusOf = ({ type: name = 'works', cluster, conditions = [] }: Published) => ({
      conditions,
      accessProviders: [{ name, ...(cluster ? { cluster } : {}) }],
    });
    await Promise.all(Object.entries(published).map(([name, one]) => publish(hub, name, one && statusOf(one))));

    const own = (await shellPlugin(t, print({ token: ownToken }))).command;
    const rules = {
      allowedServers: [good.server],
      profileSourcedCLIArgsPolicy: 'Append',
      allowedArgs: ['--region=*'],
      profileSourcedEnvVarsPolicy: 'AppendIfNotExists',
    };
    const installHint = 'install it with: apt install missing-plugin';
    const commands = { ...plugins, own, guarded: plugins.works };
    const providers = Object.entries(commands).map(([name, command]) => ({
      name,
      execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command, installHint },
      ...(name === 'guarded' ? rules : {}),
    }));
    const providerFile = await writeInput(t, 'providers.json', { providers });
    const operator = await serviceAccount(hub, 'operator');
    const KUBECONFIG = await writeInput(t, 'hub', kubeconfigText(hub, { token: await operator.mint() }));
    await withoutEtcd.stopEtcd();
    life.after(paused.pause());

    const flags = ['--clusterprofile-provider-file', providerFile];
    const { stdout, stderr, exitCode } = await execa(
      process.execPath,
      [programFile, 'check', '-A', '-o', 'json', ...flags],
      {
        env: { ...programEnvironment(await temporaryFolder(t)), KUBECONFIG },
        extendEnv: false,
        reject: false,
        // The plugin that hangs has a minute.
        timeout: 200_000,
      },
    );
    assert.equal(stderr, '');
    const { items }: { items: readonly { profile: string; failed?: string; stages: readonly Stage[] }[] } =
      JSON.parse(stdout);
    assert.equal(items.length, Object.keys(published).length);
    const found = new Map(items.map((item) => [item.profile.replace(/^default\//, ''), item]));
    assert.equal(found.get('healthy')?.failed, undefined, JSON.stringify(found.get('healthy')));
    for (const [name, [stage, code, says]] of Object.entries<Cause>(causes)) {
      await t.test(`${name}: ${stage}${code === undefined ? '' : `, ${code}`}`, () => {
        const stages = found.get(name)?.stages ?? [];
        const first =
          stages.find(({ result }) => result === 'failed') ?? stages.find(({ result }) => result === 'warning');
        assert.deepEqual([first?.stage, first?.code], [stage, code], JSON.stringify(first));
        assert.match([first?.message, first?.hint ?? '', ...(first?.warnings ?? [])].join('\n'), says);
      });
    }
    // That of the first stage, in their order, that any cluster failed at.
    assert.equal(exitCode, 10);
    assert.doesNotMatch(stdout, /eyJ|PRIVATE KEY/);
  });
});

// Real API servers that are broken, or refuse the credential, each in another way: `clusterprofile check` alone finds the cause, with
// the defaults. Causes for which no real server is needed are in test/program/verbs/check-stages.program.test.ts.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer as createHttpsServer, request as httpsRequest } from 'node:https';
import { type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { SignJWT } from 'jose';
import type { Stage, StageName } from '../../src/diagnose/index.ts';
import { createCertificateAuthority, type PluginAnswer } from '../../src/testing/index.ts';
import { listen } from '../fixtures/listen.ts';
import { runProgram, writeInput } from '../fixtures/program.ts';
import { print, shellPlugin } from '../fixtures/script.ts';
import type { ControlPlane } from './control-plane.ts';
import { publish, startHub } from './crd.ts';
import { accessBy, clusterOf, lifetimeOf, operatorFile, providerFile, serviceAccount, startPlane } from './fixture.ts';

/** The provider and the cluster that are published, the stage that fails, with the code of the library's error if it is one, and what is said. */
type Broken = readonly [provider: string, cluster: object, fails: `${StageName}${string}`, says: RegExp];

const issuer = 'https://kubernetes.default.svc';
const pem = (text: string) => Buffer.from(text).toString('base64');

/** A token of a new identity, which no role is bound to. */
async function tokenOf(plane: ControlPlane, name: string, audience: string): Promise<string> {
  const core = plane.admin.makeApiClient(CoreV1Api);
  await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name } } });
  const body = { spec: { audiences: [audience], expirationSeconds: 86_400 } };
  const { status } = await core.createNamespacedServiceAccountToken({ name, namespace: 'default', body });
  return status?.token ?? '';
}

/** In front of an API server: it ends TLS, and passes requests on without their credential. */
async function startBalancer(t: TestContext, plane: ControlPlane) {
  const authority = createCertificateAuthority('balancer-ca');
  const { certificate: cert, key } = authority.issue({ commonName: 'balancer', ipAddresses: ['127.0.0.1'] });
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
  const { port } = await listen(t, balancer);
  return { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': pem(authority.certificate) };
}

test('check alone tells an operator the cause of each of eleven clusters that are broken, beside a healthy one', async (t) => {
  const life = lifetimeOf(t);
  // The spoke takes the tokens of an issuer of the test's.
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = await writeInput(t, 'issuer.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString());
  const [hub, spoke, paused, withoutEtcd] = await Promise.all([
    startHub(life),
    startPlane(life, 'spoke', [`--service-account-key-file=${keyFile}`]),
    startPlane(life, 'paused'),
    startPlane(life, 'without-etcd'),
  ]);
  const mintFor = async (plane: ControlPlane) => (await serviceAccount(plane, 'controller')).mint();
  const foreign = createCertificateAuthority('other-ca').issue({ commonName: 'controller', client: true });
  const claims = { sub: 'system:serviceaccount:default:controller', iss: 'https://other.example', aud: issuer };
  const answers: Readonly<Record<string, PluginAnswer>> = {
    works: { token: await mintFor(spoke) },
    'of-its-own': { token: await mintFor(withoutEtcd) },
    'foreign-pair': { clientCertificateData: foreign.certificate, clientKeyData: foreign.key },
    'other-issuer': {
      token: await new SignJWT({ ...claims, exp: Math.floor(Date.now() / 1_000) + 3_600 })
        .setProtectedHeader({ alg: 'RS256' })
        .sign(privateKey),
    },
    vault: { token: await tokenOf(spoke, 'vault-client', 'vault') },
    'no-rights': { token: await tokenOf(spoke, 'nobody', issuer) },
  };
  const good = clusterOf(spoke);
  const balanced = await startBalancer(t, spoke);
  const foreignCa = { ...good, 'certificate-authority-data': hub.certificateAuthorityData };
  const misnamed = { ...good, 'tls-server-name': 'spoke.example' };
  const gone = { ...good, server: `${good.server}/clusters/gone` };
  const broken: Readonly<Record<string, Broken>> = {
    'server-paused': ['works', clusterOf(paused), 'connection CONNECT_TIMEOUT', /check whether the server runs/],
    'authority-of-another-cluster': ['works', foreignCa, 'connection TLS_UNTRUSTED', /certificate-authority-data/],
    'name-of-another-server': ['works', misnamed, 'connection TLS_NAME_MISMATCH', /kubernetes\.default\.svc/],
    'balancer-drops-header': ['works', balanced, 'authentication', /did not arrive.*drops the Authorization header/s],
    'balancer-ends-tls': ['foreign-pair', balanced, 'authentication', /did not arrive.*ends TLS, and the client/s],
    'token-of-another-issuer': ['other-issuer', good, 'authentication', /iss https:\/\/other\.example;/],
    'token-for-another-audience': ['vault', good, 'authentication', /aud vault;.*\n.*the audience looks wrong/],
    'certificate-of-another-authority': ['foreign-pair', good, 'authentication', /by other-ca.*\n.*trusts other-ca/],
    'path-wrong': ['works', gone, 'version', /status 404.*the path of server/s],
    'etcd-stopped': ['of-its-own', clusterOf(withoutEtcd), 'ready', /\[-\]etcd/],
    // A warning: only the operator knows which rights the controller needs (--can-i).
    'no-rights': ['no-rights', good, 'permissions', /no role allows this identity anything/],
  };
  await publish(hub, 'healthy', accessBy('works', good));
  for (const [name, [provider, cluster]] of Object.entries(broken))
    await publish(hub, name, accessBy(provider, cluster));
  const commands: Record<string, string> = {};
  for (const [name, answer] of Object.entries(answers)) commands[name] = (await shellPlugin(t, print(answer))).command;
  const providers = await providerFile(t, commands);
  const KUBECONFIG = await operatorFile(t, hub);
  await withoutEtcd.stopEtcd();
  life.after(paused.pause());

  const args = ['check', '-A', '-o', 'json', '--clusterprofile-provider-file', providers];
  const { stdout, stderr, exitCode } = await runProgram(t, args, { env: { KUBECONFIG } });
  assert.equal(stderr, '');
  const items: readonly { profile: string; failed?: string; stages: readonly Stage[] }[] = JSON.parse(stdout).items;
  assert.equal(items.length, 1 + Object.keys(broken).length);
  const found = new Map(items.map((item) => [item.profile.replace(/^default\//, ''), item]));
  assert.equal(found.get('healthy')?.failed, undefined, JSON.stringify(found.get('healthy')));
  for (const [name, [, , fails, says]] of Object.entries(broken)) {
    await t.test(`${name}: ${fails}`, () => {
      const stages = found.get(name)?.stages ?? [];
      const of = (wanted: string) => stages.find(({ result }) => result === wanted);
      const { stage = '', code = '', message, hint, warnings = [] } = of('failed') ?? of('warning') ?? {};
      assert.equal(`${stage} ${code}`.trim(), fails, JSON.stringify(stages));
      assert.match([message, hint, ...warnings].join('\n'), says);
    });
  }
  // That of the first stage, in their order, that any cluster failed at.
  assert.equal(exitCode, 14);
  assert.doesNotMatch(stdout, /eyJ|PRIVATE KEY/);
});

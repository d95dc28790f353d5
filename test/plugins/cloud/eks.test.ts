// eks-credentials with STS, EKS Pod Identity and IMDS on loopback. test/e2e/producers-eks.e2e.ts compares its tokens with those of
// aws-iam-authenticator.
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { describe, type TestContext, test } from 'node:test';
import { eksCredentials } from '../../../src/plugins/cloud/eks.ts';
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

const role = 'arn:aws:iam::123456789012:role/fleet';
const own = { AWS_ACCESS_KEY_ID: 'AKIAOWN', AWS_SECRET_ACCESS_KEY: 'own-secret-access-key', AWS_REGION: 'eu-west-1' };
const cluster = ['--cluster-id', 'spoke-1'];
const soon = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

/** The presigned request in a token. */
async function requestOf(args: readonly string[], config?: unknown) {
  const status = await eksCredentials(args)(execCredential(config));
  const url = new URL(Buffer.from(String(status.token).replace(/^k8s-aws-v1\./, ''), 'base64url').toString());
  const get = (name: string) => url.searchParams.get(`X-Amz-${name}`) ?? '';
  return { url, get, key: get('Credential').split('/')[0], seconds: secondsLeft(status) };
}

const xml = (id: string, seconds = 3_600) =>
  `<R><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>secret-of-${id}</SecretAccessKey>` +
  `<SessionToken>session/of+${id}==</SessionToken><Expiration>${soon(seconds)}</Expiration></Credentials></R>`;
const refused = (code: string, message: string, statusCode = 403) => ({
  statusCode,
  body: `<E><Error><Code>${code}</Code><Message>${message}</Message></Error></E>`,
});
const refusing =
  (code: string, message: string, statusCode?: number): Answering =>
  () =>
    refused(code, message, statusCode);

/** A service account's token, in the file that the webhook names. */
async function webIdentity(t: TestContext) {
  const file = await writeInput(t, 'token', 'header.web-identity-token.signature\n');
  withoutIdentity(t, { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_REGION: 'eu-west-1' });
  return file;
}

describe('a token of eks-credentials', () => {
  test('is a request to the regional STS for one cluster, signed with the keys of the environment, for 14 minutes', async (t) => {
    withoutIdentity(t, own);
    const { url, get, key, seconds } = await requestOf(cluster);
    assert.deepEqual([url.host, url.searchParams.get('Action')], ['sts.eu-west-1.amazonaws.com', 'GetCallerIdentity']);
    assert.deepEqual([key, get('SignedHeaders'), get('Expires')], ['AKIAOWN', 'host;x-k8s-aws-id', '60']);
    assert.equal(get('Security-Token'), '');
    assert.ok(seconds > 800 && seconds <= 840, `${seconds}`);
  });

  test('names the STS of its partition', async (t) => {
    withoutIdentity(t, own);
    for (const [region, host] of [
      ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn'],
      ['us-gov-west-1', 'sts.us-gov-west-1.amazonaws.com'],
      ['us-iso-east-1', 'sts.us-iso-east-1.c2s.ic.gov'],
      ['eusc-de-east-1', 'sts.eusc-de-east-1.amazonaws.eu'],
    ] as const) {
      assert.equal((await requestOf([...cluster, '--region', region])).url.host, host);
    }
  });

  test('is for the cluster and the region that the profile names, if the operator allows them', async (t) => {
    withoutIdentity(t, own);
    const open = ['--profile-cluster', 'spoke-*'];
    const { url } = await requestOf(open, { clusterId: 'spoke-7', region: 'us-east-2', roleArn: role });
    assert.equal(url.host, 'sts.us-east-2.amazonaws.com');
    assert.equal((await requestOf(open, { clusterId: 'spoke-7' })).url.host, 'sts.eu-west-1.amazonaws.com');
    const pinned = [...open, '--region', 'eu-west-1'];
    for (const [args, config, complaint] of [
      [open, { clusterId: 'prod-1' }, /names the cluster prod-1, and may name only spoke-\* \(--profile-cluster\)$/],
      [open, { clusterId: 'spoke-1\nx' }, /the profile's clusterId must be the name of a cluster$/],
      [open, { clusterId: 'spoke-1', region: 'evil.example/' }, /the profile's region must be a region such as/],
      [open, {}, /the profile names no cluster: set provideClusterInfo: true/],
      [open, { clusterId: ['spoke-1'] }, /clusterId must be text/],
      [pinned, { clusterId: 'spoke-1', region: 'us-east-2' }, /may name only eu-west-1 \(--region\)$/],
      [[], { clusterId: 'spoke-1' }, /nothing names the cluster .*: give --cluster-id, or let profiles name it/],
    ] as const) {
      await complains(() => requestOf(args, config), complaint);
    }
  });
});

describe('the identity of eks-credentials', () => {
  test('is the role of a web identity, whose token is read at each run and sent to the STS of the operator', async (t) => {
    const file = await webIdentity(t);
    const sts = await startService(t, () => ({ body: xml('ASIAWEB', 300) }));
    const args = ['--profile-cluster', '*', '--sts-endpoint', sts.url];
    const { key, get, seconds } = await requestOf(args, { clusterId: 'spoke-1', region: 'us-east-2' });
    assert.deepEqual([key, get('Security-Token')], ['ASIAWEB', 'session/of+ASIAWEB==']);
    // The keys end before the token does.
    assert.ok(seconds > 250 && seconds <= 300, `${seconds}`);
    await writeFile(file, 'the.next.one');
    setEnvironment(t, { AWS_ROLE_SESSION_NAME: 'hub' });
    await requestOf(args, { clusterId: 'spoke-1' });
    const sent = sts.requests.map(({ form: { Action, RoleArn, RoleSessionName, WebIdentityToken } }) =>
      [Action, RoleArn, RoleSessionName, WebIdentityToken].join(' '),
    );
    assert.deepEqual(sent, [
      `AssumeRoleWithWebIdentity ${role} eks-credentials header.web-identity-token.signature`,
      `AssumeRoleWithWebIdentity ${role} hub the.next.one`,
    ]);
    setEnvironment(t, { AWS_REGION: undefined });
    const profile = () => requestOf(['--profile-cluster', '*'], { clusterId: 'spoke-1', region: 'us-east-2' });
    await complains(profile, /nothing names the region: give --region, or set AWS_REGION$/);
  });

  test('is each role of --role-arn in turn, asked for with a request that the one before has signed', async (t) => {
    withoutIdentity(t, { ...own, AWS_SESSION_TOKEN: 'own-session-token' });
    const sts = await startService(t, ({ form }) => ({ body: xml(form.RoleArn === role ? 'ASIAONE' : 'ASIATWO') }));
    const roles = ['--role-arn', role, '--role-arn', `${role}-2`];
    assert.equal((await requestOf([...cluster, ...roles, '--sts-endpoint', sts.url])).key, 'ASIATWO');
    for (const [index, [id, secret, session]] of [
      ['AKIAOWN', own.AWS_SECRET_ACCESS_KEY, 'own-session-token'],
      ['ASIAONE', 'secret-of-ASIAONE', 'session/of+ASIAONE=='],
    ].entries()) {
      const request = sts.requests[index] ?? assert.fail();
      assert.equal(request.headers['x-amz-security-token'], session);
      const { authorization = '' } = request.headers;
      assert.match(authorization, new RegExp(`^AWS4-HMAC-SHA256 Credential=${id}/`));
      assert.ok(authorization.endsWith(`Signature=${signatureOf(request, String(secret))}`), authorization);
    }
  });

  test('is that of EKS Pod Identity, with the token of its file', async (t) => {
    const file = await writeInput(t, 'token', 'pod-identity-token');
    const keys = { AccessKeyId: 'ASIAPOD', SecretAccessKey: 's', Token: 'session', Expiration: soon(7_200) };
    const agent = await startMetadata(t, ({ headers }) =>
      headers.authorization === 'pod-identity-token' ? { body: keys } : { statusCode: 400, body: 'who? pod-token' },
    );
    withoutIdentity(t, {
      AWS_REGION: 'eu-west-1',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    });
    assert.equal((await requestOf(cluster)).key, 'ASIAPOD');
    await writeFile(file, 'another-token');
    const refused = /answered 400; check the pod identity association of the service account$/;
    await complains(() => requestOf(cluster), refused, ['another-token', 'pod-token']);
    // Over HTTP the token goes to the agent of this machine only.
    setEnvironment(t, { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://evil.example/v1/credentials' });
    await complains(() => requestOf(cluster), /must be an https:\/\/ URL, or lead to the agent/);
  });

  test('is the role of the instance, by IMDSv2 and through no proxy', async (t) => {
    const keys = { Code: 'Success', AccessKeyId: 'ASIAEC2', SecretAccessKey: 's', Token: 't', Expiration: soon(600) };
    const imds = await startMetadata(t, ({ method, url, headers }) => {
      if (method === 'PUT' && url === '/latest/api/token') return { body: 'imds-session' };
      if (headers['x-aws-ec2-metadata-token'] !== 'imds-session') return { statusCode: 401 };
      return { body: url.endsWith('/node-role') ? keys : 'node-role\n' };
    });
    const HTTP_PROXY = 'http://127.0.0.1:9';
    withoutIdentity(t, {
      AWS_REGION: 'eu-west-1',
      AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.url,
      HTTP_PROXY,
      NO_PROXY: '',
    });
    const { key, seconds } = await requestOf(cluster);
    assert.equal(key, 'ASIAEC2');
    assert.ok(seconds > 500 && seconds <= 600, `${seconds}`);
    imds.answer(({ method }) => (method === 'PUT' ? { body: 'imds-session' } : { statusCode: 404 }));
    await complains(() => requestOf(cluster), /knows no role of this instance \(instance metadata\)/);
  });

  test('is missing with a sentence on each source, also where the metadata server hangs', async (t) => {
    const imds = await startMetadata(t, () => undefined);
    withoutIdentity(t, { AWS_REGION: 'eu-west-1', AWS_EC2_METADATA_SERVICE_ENDPOINT: imds.url });
    await complains(
      () => requestOf(cluster),
      /^there is no AWS identity: AWS_ACCESS_KEY_ID is not set \(keys\); AWS_WEB_IDENTITY_TOKEN_FILE is not set .*; AWS_CONTAINER_CREDENTIALS_FULL_URI is not set .*; 127\.0\.0\.1:\d+ has not answered within 2 s \(instance metadata; .*hop limit.*\); a plugin in a clean environment/,
    );
    setEnvironment(t, { AWS_EC2_METADATA_DISABLED: 'true' });
    await complains(() => requestOf(cluster), /AWS_EC2_METADATA_DISABLED is set \(instance metadata\)/);
    assert.equal(imds.requests.length, 1);
  });

  test('that the environment names must work: another one would be another identity', async (t) => {
    const file = await webIdentity(t);
    await rm(file);
    await complains(() => requestOf(cluster), /^AWS_WEB_IDENTITY_TOKEN_FILE \S+ cannot be read \(ENOENT\)/);
    setEnvironment(t, { AWS_ROLE_ARN: undefined });
    await complains(() => requestOf(cluster), /AWS_ROLE_ARN is not: name the role$/);
    setEnvironment(t, { AWS_ACCESS_KEY_ID: 'AKIA' });
    await complains(() => requestOf(cluster), /AWS_SECRET_ACCESS_KEY is not$/);
  });
});

describe('what STS refuses', () => {
  test('is said with what to do, and with nothing that was sent', async (t) => {
    await webIdentity(t);
    const sts = await startService(t, () => ({}));
    const args = [...cluster, '--sts-endpoint', sts.url];
    for (const [answering, complaint] of [
      [
        refusing('AccessDenied', 'Not authorized to perform sts:AssumeRoleWithWebIdentity'),
        /^the role \S+:role\/fleet cannot be assumed: 127\.0\.0\.1:\d+ answered 403 \(AccessDenied: Not authorized .*\); allow it in the trust policy/,
      ],
      [
        refusing('ExpiredTokenException', 'Token expired', 400),
        /\(ExpiredTokenException: .*\); the token in .* has expired/,
      ],
      [refusing('InvalidIdentityToken', 'Incorrect token audience', 400), /its audience \(sts\.amazonaws\.com\)$/],
      [refusing('RequestExpired', 'Request has expired', 400), /\(RequestExpired: .*check this machine's clock$/],
      [refusing('SignatureDoesNotMatch', 'The Canonical String: x-amz-security-token:web-identity-token'), /clock$/],
      [
        refusing('AccessDenied', 'first line\nx-amz-security-token: web-identity-token'),
        /\(AccessDenied: first line\);/,
      ],
      [() => ({ statusCode: 404, body: '<html>web-identity-token' }), /answered 404$/],
      [refusing('constructor', 'no advice'), /answered 403 \(constructor: no advice\)$/],
      [
        () => ({ statusCode: 200, body: 'OK' }),
        /answered 200; that is not the documented answer: check which server this is$/,
      ],
      [
        () => ({ body: xml('ASIAWEB', -60) }),
        /^the access key ASIAWEB had expired when it came \(.*Z\): check this machine's clock/,
      ],
    ] as const) {
      sts.answer(answering);
      await complains(() => requestOf(args), complaint, ['web-identity-token']);
    }
    const date = new Date(Date.now() - 600_000).toUTCString();
    sts.answer(() => ({ ...refused('SignatureDoesNotMatch', ''), headers: { date } }));
    await complains(() => requestOf(args), /this machine's clock is (?:59\d|60\d) s ahead of the server's/);
  });

  test('is tried three times if STS is busy, or cuts the connection', async (t) => {
    await webIdentity(t);
    const sts = await startService(t, refusing('Throttling', 'Rate exceeded', 400));
    const args = [...cluster, '--sts-endpoint', sts.url];
    await complains(() => requestOf(args), /\(Throttling: Rate exceeded\)$/);
    assert.equal(sts.requests.length, 3);
    const answers = ['reset', { statusCode: 503 }] as const;
    sts.answer(() => answers[sts.requests.length - 4] ?? { body: xml('ASIAWEB') });
    assert.equal((await requestOf(args)).key, 'ASIAWEB');
    assert.equal(sts.requests.length, 6);
  });

  test('is no answer at all in a region that does not exist', async (t) => {
    await webIdentity(t);
    setEnvironment(t, { AWS_REGION: 'eu-nowhere-9' });
    await complains(
      () => requestOf([...cluster, '--sts-endpoint', 'https://sts.invalid']),
      /^sts\.invalid cannot be reached \((?:ENOTFOUND|EAI_AGAIN)\): check whether the region eu-nowhere-9 exists \(--region\)/,
    );
  });
});

test('arguments of eks-credentials that are wrong name what to write', () => {
  for (const [args, complaint] of [
    [[...cluster, ...cluster], /^--cluster-id is given 2 times: give it once; a profile must not add it$/],
    [[...cluster, '--profile-cluster', '*'], /^--cluster-id and --profile-cluster exclude each other/],
    [['--cluster-id', ''], /^--cluster-id is empty/],
    [['--cluster-id', 'a b'], /^--cluster-id must be the name of a cluster$/],
    [[...cluster, '--region', 'evil.example'], /^--region must be a region such as eu-west-1$/],
    [[...cluster, '--role-arn', 'fleet'], /^--role-arn fleet must look like arn:aws:iam::/],
    [[...cluster, '--sts-endpoint', 'http://sts.example'], /^--sts-endpoint must be an https:\/\/ URL/],
  ] as const) {
    assert.throws(() => eksCredentials(args), { message: complaint });
  }
});

/** The signature of a signed POST (AWS Signature Version 4), from what was really sent. */
function signatureOf(
  { body, headers }: { readonly body: string; readonly headers: Readonly<Record<string, unknown>> },
  secret: string,
): string {
  const [, scope = '', names = ''] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+)/.exec(String(headers.authorization)) ?? [];
  const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const lines = names.split(';').map((name) => `${name}:${headers[name]}\n`);
  const canonical = ['POST', '/', '', lines.join(''), names, sha256(body)].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((previous, part) => hmac(previous, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

// gke-credentials with the metadata server, STS, OAuth and IAM of Google on loopback, with answers as Google documents them.
import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { describe, type TestContext, test } from 'node:test';
import { gkeCredentials } from '../../../src/plugins/cloud/gke.ts';
import {
  complains,
  execCredential,
  secondsLeft,
  startMetadata,
  startService,
  withoutIdentity,
} from '../../fixtures/clouds.ts';
import { writeInput } from '../../fixtures/program.ts';
import { setEnvironment } from '../../fixtures/script.ts';

const scopes = ['https://www.googleapis.com/auth/cloud-platform', 'https://www.googleapis.com/auth/userinfo.email'];
const flavor = { 'Metadata-Flavor': 'Google' };
const run = (...args: string[]) => gkeCredentials(args)(execCredential({ serviceAccount: 'evil' }));

describe('gke-credentials with the metadata server', () => {
  test('gives the token of the pod, or of the service account that the operator names, through no proxy', async (t) => {
    const body = { access_token: 'ya29.pod', expires_in: 3_000, token_type: 'Bearer' };
    const metadata = await startMetadata(t, () => ({ body, headers: flavor }));
    withoutIdentity(t, { GCE_METADATA_HOST: new URL(metadata.url).host, HTTP_PROXY: 'http://127.0.0.1:9' });
    const status = await run();
    assert.equal(status.token, 'ya29.pod');
    assert.ok(secondsLeft(status) > 2_900 && secondsLeft(status) <= 3_000);
    await run('--service-account', 'fleet@p.iam.gserviceaccount.com');
    const path = '/computeMetadata/v1/instance/service-accounts';
    const query = `token?scopes=${encodeURIComponent(scopes.join(','))}`;
    assert.deepEqual(
      metadata.requests.map(({ url }) => url),
      [`${path}/default/${query}`, `${path}/fleet@p.iam.gserviceaccount.com/${query}`],
    );
    assert.ok(metadata.requests.every(({ headers }) => headers['metadata-flavor'] === 'Google'));
  });

  test('says what is wrong with it, and that there is no file either', async (t) => {
    const metadata = await startMetadata(t, () => ({ statusCode: 404, headers: flavor, body: 'not found' }));
    withoutIdentity(t, { GCE_METADATA_HOST: new URL(metadata.url).host });
    await complains(() => run(), /answered 404; the metadata server needs a service account for the pod/);
    metadata.answer(() => ({ body: { access_token: 'ya29.x', expires_in: 1 } }));
    await complains(
      () => run(),
      /^there is no Google identity: GOOGLE_APPLICATION_CREDENTIALS is not set; 127\.0\.0\.1:\d+ is not Google's metadata server$/,
    );
    metadata.answer(() => 'reset');
    await complains(() => run(), /is not set; the metadata server 127\.0\.0\.1:\d+ cannot be reached \(ECONNRESET\)$/);
  });

  test('asks again while the metadata server of a new pod hangs, or does not know its account yet', async (t) => {
    const body = { access_token: 'ya29.pod', expires_in: 1e300 };
    const answers = [undefined, { statusCode: 404, headers: flavor, body: 'not found' }];
    const metadata = await startMetadata(t, () => (answers.length > 0 ? answers.shift() : { body, headers: flavor }));
    withoutIdentity(t, { GCE_METADATA_HOST: new URL(metadata.url).host });
    const status = await run();
    assert.equal(metadata.requests.length, 3);
    // What no cloud gives is no reason to keep a token for ever.
    assert.ok(secondsLeft(status) > 86_000 && secondsLeft(status) <= 86_400);
  });

  test('refuses a token that has expired, what is none, and an answer of another protocol', async (t) => {
    const metadata = await startMetadata(t, () => ({
      headers: flavor,
      body: { access_token: 'x', expires_in: -1e300 },
    }));
    withoutIdentity(t, { GCE_METADATA_HOST: new URL(metadata.url).host });
    await complains(() => run(), /^the token had expired when it came \(20\d\d-.*Z\): check this machine's clock/);
    metadata.answer(() => ({ headers: flavor, body: { access_token: 'x', expires_in: 'soon' } }));
    await complains(() => run(), /answered 200; the metadata server needs/);
    metadata.answer(() => ({ statusCode: 101, headers: { ...flavor, connection: 'Upgrade', upgrade: 'h2c' } }));
    await complains(() => run(), /cannot be reached \(ERR_HTTP_UPGRADE\)$/);
  });
});

/** The file that GOOGLE_APPLICATION_CREDENTIALS names. */
async function credentials(t: TestContext, content: object | string) {
  withoutIdentity(t, { GOOGLE_APPLICATION_CREDENTIALS: await writeInput(t, 'credentials.json', content) });
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const serviceAccount = (url: string) => ({
  type: 'service_account',
  client_email: 'fleet@p.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  private_key_id: 'key-1',
  token_uri: `${url}/token`,
});
const external = (url: string, credential_source: object) => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${url}/v1/token`,
  credential_source,
});
const impersonation = (url: string) => `${url}/v1/projects/-/serviceAccounts/fleet@p:generateAccessToken`;
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

/** OAuth and STS give `ya29.own`; IAM gives `ya29.impersonated` to its holder. */
const google = (t: TestContext) =>
  startService(t, ({ url, headers }) => {
    if (!url.endsWith(':generateAccessToken')) return { body: { access_token: 'ya29.own', expires_in: 3_599 } };
    if (headers.authorization !== 'Bearer ya29.own') return { statusCode: 401 };
    return { body: { accessToken: 'ya29.impersonated', expireTime: inAnHour() } };
  });

describe('gke-credentials with GOOGLE_APPLICATION_CREDENTIALS', () => {
  test('gives the token of a service account, in exchange for a JWT that its key has signed', async (t) => {
    const service = await google(t);
    await credentials(t, serviceAccount(service.url));
    const status = await run();
    assert.equal(status.token, 'ya29.own');
    assert.ok(secondsLeft(status) > 3_500);
    const [{ form } = assert.fail()] = service.requests;
    assert.equal(form.grant_type, 'urn:ietf:params:oauth:grant-type:jwt-bearer');
    const [head = '', body = '', signature = ''] = (form.assertion ?? '').split('.');
    const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    assert.deepEqual(parse(head), { alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    const { iat, exp, ...claims } = parse(body);
    assert.deepEqual(claims, {
      iss: 'fleet@p.iam.gserviceaccount.com',
      scope: scopes.join(' '),
      aud: `${service.url}/token`,
    });
    assert.equal(exp - iat, 3_600);
    assert.ok(verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url')));
  });

  test('exchanges the token of a file, plain or in JSON, and reads it at each run', async (t) => {
    const service = await google(t);
    const file = await writeInput(t, 'token', 'pod.token.one\n');
    await credentials(t, external(service.url, { file }));
    assert.equal((await run()).token, 'ya29.own');
    const format = { type: 'json', subject_token_field_name: 'id_token' };
    await credentials(t, external(service.url, { file, format }));
    await writeFile(file, JSON.stringify({ id_token: 'pod.token.two' }));
    await run();
    const [first, second] = service.requests.map(({ form }) => form);
    assert.deepEqual(first, {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      scope: scopes.join(' '),
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token: 'pod.token.one',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    });
    assert.equal(second?.subject_token, 'pod.token.two');
    await writeFile(file, '{}');
    await complains(() => run(), /^credential_source\.file \S+ has no text in the field id_token/);
  });

  test('exchanges the token of a URL, with its headers, and impersonates the service account that the file names', async (t) => {
    const [service, source] = [await google(t), await startMetadata(t, () => ({ body: { access_token: 'vm.token' } }))];
    const format = { type: 'json' };
    const url = `${source.url}/token?resource=x`;
    await credentials(t, {
      ...external(service.url, { url, headers: { Metadata: 'true' }, format }),
      service_account_impersonation_url: impersonation(service.url),
      service_account_impersonation: { token_lifetime_seconds: 900 },
    });
    assert.equal((await run()).token, 'ya29.impersonated');
    assert.equal(source.requests[0]?.headers.metadata, 'true');
    const [exchanged, impersonated] = service.requests;
    assert.deepEqual([exchanged?.form.subject_token, exchanged?.form.scope], ['vm.token', scopes[0]]);
    assert.deepEqual(JSON.parse(impersonated?.body ?? ''), { scope: scopes, lifetime: '900s' });
  });

  test('impersonates a service account with the key of another one', async (t) => {
    const service = await google(t);
    await credentials(t, {
      type: 'impersonated_service_account',
      service_account_impersonation_url: impersonation(service.url),
      delegates: ['between@p'],
      source_credentials: serviceAccount(service.url),
    });
    const status = await run();
    assert.equal(status.token, 'ya29.impersonated');
    assert.ok(secondsLeft(status) > 3_500);
    assert.deepEqual(JSON.parse(service.requests[1]?.body ?? ''), { scope: scopes, delegates: ['between@p'] });
  });

  test('says what Google refuses, what to do, and nothing that was sent', async (t) => {
    const service = await google(t);
    const file = await writeInput(t, 'token', 'pod.secret-token.x');
    await credentials(t, {
      ...external(service.url, { file }),
      service_account_impersonation_url: impersonation(service.url),
    });
    const refusing = (statusCode: number, body: object) => () => ({ statusCode, body });
    for (const [answering, complaint] of [
      [
        refusing(400, {
          error: 'invalid_grant',
          error_description: 'The audience does not match.\npod.secret-token.x',
        }),
        /^127\.0\.0\.1:\d+ answered 400 \(invalid_grant: The audience does not match\.\); compare the token of credential_source/,
      ],
      [refusing(400, { error: 'pod.secret-token.x' }), /answered 400; compare/],
      [refusing(500, {}), /answered 500; try again later$/],
      [refusing(200, { access_token: '' }), /answered 200; compare/],
    ] as const) {
      service.answer(answering);
      await complains(() => run(), complaint, ['pod.secret-token.x']);
    }
    service.answer(({ url }) => {
      if (!url.endsWith(':generateAccessToken')) return { body: { access_token: 'ya29.own', expires_in: 3_599 } };
      return {
        statusCode: 403,
        body: { error: { code: 403, status: 'PERMISSION_DENIED', message: 'Permission denied' } },
      };
    });
    await complains(
      () => run(),
      /answered 403 \(PERMISSION_DENIED: Permission denied\); grant the identity roles\/iam\.serviceAccountTokenCreator/,
      ['ya29.own'],
    );
  });

  test('says what is wrong with the file, and quotes nothing of it', async (t) => {
    const key = serviceAccount('https://h');
    for (const [content, complaint] of [
      ['', /credentials\.json is empty$/],
      ['{"private_key":', /holds no JSON$/],
      [{ type: 'authorized_user', refresh_token: 's3cret' }, /: type must be service_account, external_account or/],
      [{ ...key, private_key: 's3cret' }, /private_key is not a private key in PEM$/],
      [{ ...key, client_email: undefined }, /: client_email is missing or wrong$/],
      [{ ...key, token_uri: 'http://h/token' }, /^token_uri must be an https:\/\/ URL/],
      [
        external('https://h', { executable: { command: 'x' } }),
        /must have a file or a url: programs and AWS sources are not supported$/,
      ],
      [external('https://h', { file: '/nowhere' }), /^credential_source\.file \/nowhere cannot be read \(ENOENT\)/],
      [
        {
          type: 'impersonated_service_account',
          service_account_impersonation_url: 'https://h',
          source_credentials: { type: 'authorized_user' },
        },
        /: source_credentials\.type must be/,
      ],
    ] as const) {
      await credentials(t, content);
      await complains(() => run(), complaint, ['s3cret']);
    }
    await complains(() => run('--service-account', 'x@p'), /is for the metadata server, and .* is set: choose one$/);
    setEnvironment(t, { GOOGLE_APPLICATION_CREDENTIALS: '/nowhere' });
    await complains(() => run(), /^GOOGLE_APPLICATION_CREDENTIALS \/nowhere cannot be read/);
  });
});

test('arguments of gke-credentials that are wrong name what to write', () => {
  for (const [args, complaint] of [
    [['--service-account', 'a', '--service-account', 'b'], /^--service-account is given 2 times: give it once/],
    [['--service-account', '../x'], /^--service-account must be an email address$/],
    [['--service-account', '..'], /^--service-account must be an email address$/],
  ] as const) {
    assert.throws(() => gkeCredentials(args), { message: complaint });
  }
});

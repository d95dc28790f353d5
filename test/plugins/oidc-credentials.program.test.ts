// The plugin as a program, with real issuers; with a real API server it is in test/e2e.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { generateKeyPair } from 'jose';
import { oidcCredentials } from '../../src/plugins/oidc/token.ts';
import { complains, execCredential, secondsLeft } from '../fixtures/clouds.ts';
import { type IssuerClient, startIssuer } from '../fixtures/issuer.ts';
import { setEnvironment, temporaryFolder } from '../fixtures/script.ts';

const program = fileURLToPath(new URL('../../dist/plugins/oidc-credentials.js', import.meta.url));

/** The plugin as a process. */
async function run(args: readonly string[]) {
  const env = { KUBERNETES_EXEC_INFO: JSON.stringify(execCredential()), NO_PROXY: '127.0.0.1' };
  const { stdout, stderr, exitCode } = await execa(process.execPath, [program, ...args], { env, reject: false });
  return { stdout, stderr, exitCode };
}

/** The status that the plugin gives, with the claims of its token. */
async function statusOf(args: readonly string[], config?: unknown) {
  const status = await oidcCredentials(args)(execCredential(config));
  const claims = JSON.parse(Buffer.from(status.token?.split('.')[1] ?? '', 'base64url').toString());
  return { claims, seconds: secondsLeft(status) };
}

const isRefused = (args: readonly string[], complaint: RegExp, config?: unknown) =>
  complains(() => oidcCredentials(args)(execCredential(config)), complaint, ['the-Secret_itself', 'the-password']);

async function start(t: TestContext, clients: Readonly<Record<string, IssuerClient>>, metadata: object = {}) {
  setEnvironment(t, { NO_PROXY: '127.0.0.1' });
  const folder = await temporaryFolder(t);
  const issuer = await startIssuer(t, clients, { path: '/tenant', metadata });
  const file = async (name: string, content: string) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const caFile = await file('ca.crt', issuer.ca);
  return { issuer, file, args: ['--issuer', issuer.url, '--ca-file', caFile] };
}

describe('oidc-credentials', () => {
  test('explains itself, answers, and ends with 2 where it is run in a wrong way', async (t) => {
    const { file, args } = await start(t, { controller: { secret: 'x' } });
    const proof = ['--client-id=controller', `--client-secret-file=${await file('secret', 'x')}`, '--audience=spoke'];
    const [help, good, wrong] = await Promise.all([
      run(['--help']),
      run([...args, ...proof]),
      run(['--issuer', 'https://h']),
    ]);
    assert.match(JSON.parse(good.stdout).status.token, /^ey/);
    assert.deepEqual([good.stderr, good.exitCode], ['', 0]);
    assert.match(help.stdout, /^Usage: oidc-credentials /);
    assert.deepEqual([wrong.exitCode, wrong.stdout], [2, '']);
    assert.match(wrong.stderr, /^oidc-credentials: --client-id is missing.* \(--help explains\)$/);
  });

  test('gives a token of the client itself for the audiences, resources and scopes, until it ends', async (t) => {
    const { issuer, file, args } = await start(t, { controller: { secret: 's3cr&t=' } });
    const proof = ['--client-id', 'controller', '--client-secret-file', await file('secret', 's3cr&t=\n')];
    const asked = ['--audience', 'a', '--audience', 'b', '--resource', 'https://r', '--scope', 'x', '--scope', 'y'];
    const { claims, seconds } = await statusOf([...args, ...proof, ...asked]);
    assert.deepEqual([claims.sub, claims.aud], ['controller', ['a', 'b', 'https://r']]);
    assert.ok(seconds > 500 && seconds <= 600, `${seconds}`);
    assert.equal(issuer.requests[0]?.get('scope'), 'x y');
    assert.equal(issuer.requests[0]?.get('client_secret'), null);
  });

  test('sends the secret in the body where the issuer takes nothing else', async (t) => {
    const metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
    const { issuer, file, args } = await start(t, { controller: { secret: 'x' } }, metadata);
    await statusOf([...args, '--client-id', 'controller', '--client-secret-file', await file('secret', 'x')]);
    assert.equal(issuer.requests[0]?.get('client_secret'), 'x');
  });

  test('proves who it is with a private key, at a token endpoint without metadata too, or with the token of another issuer', async (t) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const pem = `-----BEGIN PRIVATE KEY-----\n${Buffer.from(await crypto.subtle.exportKey('pkcs8', privateKey)).toString('base64')}\n-----END PRIVATE KEY-----\n`;
    const other = await startIssuer(t, {});
    const trusts = { issuer: other.url, subject: 'pod', audience: 'issuer', jwksUrl: other.jwksUrl, ca: other.ca };
    const { issuer, file, args } = await start(t, { keyed: { publicKey }, federated: { trusts } });
    const keyed = ['--client-id', 'keyed', '--client-key-file', await file('key', pem), '--audience', 'spoke'];
    const assertion = await file('assertion', await other.sign({ sub: 'pod', aud: 'issuer' }));
    const federated = ['--client-id', 'federated', '--client-assertion-file', assertion, '--audience', 'spoke'];
    const endpoint = ['--token-endpoint', `${issuer.url}/token`, ...args.slice(2)];
    for (const where of [args, endpoint]) assert.equal((await statusOf([...where, ...keyed])).claims.sub, 'keyed');
    assert.equal((await statusOf([...args, ...federated])).claims.sub, 'federated');
    await file('assertion', await other.sign({ sub: 'pod', aud: 'somebody else' }));
    await isRefused([...args, ...federated], /answered 401 \(invalid_client: .*; check whether --client-id and/);
  });

  test("exchanges a pod's token, and reads it anew at each run", async (t) => {
    const cluster = await startIssuer(t, {});
    const subject = 'system:serviceaccount:fleet:controller';
    const trusts = { issuer: cluster.url, subject, audience: 'issuer', jwksUrl: cluster.jwksUrl, ca: cluster.ca };
    const { issuer, file, args } = await start(t, { controller: { trusts } });
    const token = await file('token', await cluster.sign({ sub: subject, aud: 'issuer' }));
    const exchange = [...args, '--client-id', 'controller', '--subject-token-file', token, '--audience', 'spoke'];
    assert.deepEqual((await statusOf(exchange)).claims.sub, subject);
    assert.equal(issuer.requests[0]?.get('subject_token_type'), 'urn:ietf:params:oauth:token-type:jwt');
    await file('token', await cluster.sign({ sub: 'system:serviceaccount:fleet:other', aud: 'issuer' }));
    await isRefused(exchange, /answered 400 \(invalid_grant: .*--subject-token-file/);
  });

  test('gives the ID token where that is asked for, and says where there is none', async (t) => {
    const { file, args } = await start(t, { controller: { secret: 'x' } });
    const proof = ['--client-id', 'controller', '--client-secret-file', await file('secret', 'x'), '--id-token'];
    assert.equal((await statusOf([...args, ...proof, '--scope', 'openid'])).claims.aud, 'controller');
    await isRefused([...args, ...proof], /gave no ID token: ask for --scope openid/);
  });

  test('says that a proxy of the environment cannot be used, and not its password', async (t) => {
    const { file, args } = await start(t, { controller: { secret: 'x' } });
    setEnvironment(t, { HTTPS_PROXY: 'gopher://u:the-password@proxy' });
    const proof = ['--client-id', 'controller', '--client-secret-file', await file('secret', 'x')];
    await isRefused([...args, ...proof], /HTTPS_PROXY or HTTP_PROXY of the environment is not a URL that Node can use/);
  });

  test('lets a profile name the audience that its operator allows, and no other', async (t) => {
    const { file, args } = await start(t, { controller: { secret: 'x' } });
    const proof = [...args, '--client-id', 'controller', '--client-secret-file', await file('secret', 'x')];
    const pinned = [...proof, '--profile-audience', 'https://*.example.dev'];
    assert.equal(
      (await statusOf(pinned, { audience: 'https://spoke.example.dev' })).claims.aud,
      'https://spoke.example.dev',
    );
    await isRefused(pinned, /may name only https:\/\/\*\.example\.dev \(--profile-audience\)/, {
      audience: 'https://evil.example',
    });
    await isRefused(proof, /may name no audience/, { audience: 'x' });
    await isRefused(pinned, /audience must be text/, { audience: ['x'] });
    // Without one the issuer's own default would be good for more than that cluster.
    for (const config of [undefined, {}, { audience: '' }]) {
      await isRefused(pinned, /the profile names no audience: its extension has to/, config);
    }
    for (const audience of ['https://evil.example https://a.example.dev', 'https://evil.example\n.example.dev']) {
      await isRefused(pinned, /an audience with spaces or control characters/, { audience });
    }
  });

  test('says when a token ends, at once too, and not where no RFC 3339 time can say it', async (t) => {
    const { issuer, file, args } = await start(t, {});
    const proof = [...args, '--client-id', 'controller', '--client-secret-file', await file('secret', 'x')];
    const endOf = async (expires_in: number) => {
      issuer.answer(200, { access_token: 'opaque', token_type: 'Bearer', expires_in });
      return (await oidcCredentials(proof)(execCredential())).expirationTimestamp;
    };
    const end = await endOf(0);
    assert.ok(end instanceof Date && end.getTime() <= Date.now());
    assert.equal(await endOf(9e12), undefined);
  });

  test('gives the JWT of a file, such as a JWT-SVID, until it ends', async (t) => {
    const { issuer, file } = await start(t, {});
    const good = await file(
      'good',
      `${await issuer.sign({ sub: 'spiffe://example.dev/controller', aud: 'spoke' }, 300)}\n`,
    );
    const { claims, seconds } = await statusOf(['--token-file', good]);
    assert.equal(claims.sub, 'spiffe://example.dev/controller');
    assert.ok(seconds > 200 && seconds <= 300, `${seconds}`);
    const old = await file('old', await issuer.sign({ sub: 'x' }, -60));
    await isRefused(
      ['--token-file', old],
      /holds a token that expired at .*: check whether the program that writes it still runs/,
    );
    for (const [content, complaint] of [
      ['a.b', /holds no JWT with an exp claim/],
      [`${Buffer.from('{}').toString('base64url')}.bm90IGpzb24.x`, /holds no JWT/],
      ['', /is empty/],
    ] as const) {
      await isRefused(['--token-file', await file('bad', content)], complaint);
    }
    await isRefused(['--token-file', '/nowhere'], /cannot be read \(ENOENT\): correct the path, or mount/);
  });

  test('says in one line what went wrong, and nothing that was secret, also where the issuer repeats it', async (t) => {
    const { issuer, file, args } = await start(t, { controller: { secret: 'the-Secret_itself' } });
    const secret = await file('secret', 'the-Secret_itself');
    const proof = ['--client-id', 'controller', '--client-secret-file', secret];
    const other = await startIssuer(t, {}, { metadata: { issuer: 'https://elsewhere.example' } });
    const otherCa = await file('other.crt', other.ca);
    const silent = ['--token-endpoint', `${issuer.url}/nowhere`, ...args.slice(2)];
    for (const [given, complaint] of [
      [
        ['--issuer', issuer.url, ...proof],
        /cannot be reached \([A-Z_]+\); --ca-file names the authority of its certificate$/,
      ],
      [['--issuer', other.url, '--ca-file', otherCa, ...proof], /name another issuer: write --issuer exactly/],
      [['--issuer', 'https://127.0.0.1:2', ...proof], /cannot be reached \(ECONNREFUSED\)$/],
      [[...silent, ...proof], /answered 404 \(not_found\)$/],
      [[...args, ...proof, '--audience', 'forbidden'], /\(invalid_target: .*; correct --audience or --resource/],
      [
        [...args, '--client-id', 'nobody', '--client-secret-file', secret],
        /answered 401 \(invalid_client: client authentication failed\); check whether --client-id and/,
      ],
      [['--issuer', issuer.url, '--ca-file', secret, ...proof], /--ca-file .* holds no certificates in PEM/],
      [[...args, '--client-id', 'controller', '--client-key-file', secret], /holds no private key: it has to be PEM/],
    ] as const) {
      await isRefused(given, complaint);
    }
    // As it is, and as a form has it.
    for (const repeated of ['the-Secret_itself', 'the%2DSecret%5Fitself']) {
      issuer.answer(400, {
        error: 'invalid_request',
        error_description: `no such thing: ${repeated} ${'x'.repeat(9_000)}`,
      });
      const { stdout, stderr, exitCode } = await run([...args, ...proof]);
      assert.deepEqual([stdout, exitCode], ['', 1]);
      assert.match(stderr, /^https:.*answered 400 \(invalid_request: no such thing: /);
      assert.ok(stderr.length < 5_000 && !stderr.includes('\n') && !stderr.includes(repeated), stderr);
    }
    for (const [status, complaint] of [
      [503, /answered 503: try again later/],
      [404, /did not answer like an issuer \(HTTP 404\): check whether the URL is right/],
    ] as const) {
      issuer.answer(status, {});
      await isRefused([...args, ...proof], complaint);
    }
    issuer.answer(400, { error: 'constructor' });
    await isRefused([...args, ...proof], /answered 400 \(constructor\)$/);
    issuer.answer(200, { token_type: 'Bearer' });
    await isRefused([...args, ...proof], /OAUTH|did not answer like an issuer/);
  });
});

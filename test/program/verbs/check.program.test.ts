import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { createCertificateAuthority, FakeCluster } from '../../../src/testing/index.ts';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { clusterOf, profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { runProgram } from '../../fixtures/program.ts';
import { startHttpProxy } from '../../fixtures/proxies.ts';
import { ended, print, shellPlugin } from '../../fixtures/script.ts';

describe('clusterprofile check on ten clusters, of which four are broken in different ways', () => {
  test('prints what docs/command-line.md says, and ends with the code of the first stage that failed', async (t) => {
    const { env, flags, names, plugin } = await startOperatedFleet(t);
    const [all, some] = await Promise.all([
      runProgram(t, ['check', '-q', ...flags], { env }),
      runProgram(t, ['check', 'spoke-1', ...flags], { env }),
    ]);
    assert.deepEqual([all.stderr, all.exitCode, some.stderr, some.exitCode], ['', 11, '', 0]);
    const command = 'clusterprofile check --clusterprofile-provider-file providers.yaml';
    assertDocumented(`${command} spoke-1`, `${withoutRun(some.stdout, names)}\n`);
    assertDocumented(`${command} -q`, `${withoutRun(all.stdout, names)}\n`);
    // Clusters share a credential, as they do in a controller; the 401 of spoke-9 asks for another one.
    assert.equal(await plugin.runs(), 3);
  });

  test('with -o json gives all that it found, and no token', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const json = await runProgram(t, ['check', '-o', 'json', ...flags], { env });
    const { items } = JSON.parse(json.stdout);
    assert.equal(items.length, 10);
    const [, , , third] = items;
    assert.deepEqual(
      [third.profile, third.ok, third.failed, third.stages[1].code],
      ['fleet/spoke-3', false, 'provider', 'NO_MATCHING_PROVIDER'],
    );
    assert.doesNotMatch(json.stdout, /token-1/);
  });
});

interface Checked {
  readonly code?: string;
  readonly args?: readonly string[];
}

/** A check of profiles in a file, by their names, and of one that says nothing. Gives the block of lines of each. */
async function check(t: TestContext, profiles: Readonly<Record<string, object>>, { code, args = [] }: Checked = {}) {
  const plugin = await shellPlugin(t, code ?? print({ token: 'token-1' }));
  const items = Object.entries(profiles).map(([name, { status = {}, ...cluster }]: [string, { status?: object }]) =>
    profileOf(name, 'google', cluster, status),
  );
  const unpublished = { kind: 'ClusterProfile', metadata: { namespace: 'fleet', name: 'unpublished' } };
  const input = JSON.stringify({ kind: 'List', items: [...items, unpublished] });
  const flags = ['--clusterprofile-access-provider', `google=${plugin.command}`, ...args];
  const { stdout, exitCode } = await runProgram(t, ['check', '-f', '-', ...flags], { input });
  const blocks = Object.fromEntries(
    stdout.split(/^(?=fleet\/)/m).map((block) => [/^fleet\/(.*)/.exec(block)?.[1] ?? '', block]),
  );
  return { blocks, stdout, exitCode, plugin };
}

async function startSpoke(t: TestContext) {
  const spoke = await FakeCluster.start({ name: 'v1.34.1', tokens: { 'token-1': 'me' } });
  t.after(() => spoke.close());
  return spoke;
}

/** A TLS server that answers each path in its own way. */
async function startOddServer(t: TestContext, answers: Readonly<Record<string, readonly [number, string]>>) {
  const authority = createCertificateAuthority();
  const { certificate: cert, key } = authority.issue({ commonName: 'odd', ipAddresses: ['127.0.0.1'] });
  const server = createServer({ cert, key }, (request, response) => {
    const [status, body] = answers[request.url?.split('/').at(-1) ?? ''] ?? [404, '{"kind":"Status","code":404}'];
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  const data = Buffer.from(authority.certificate).toString('base64');
  return { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': data };
}

describe('clusterprofile check', () => {
  test('tells what is wrong at each stage', async (t) => {
    const spoke = await startSpoke(t);
    const [proxy, closed] = [await startHttpProxy(t), await startHttpProxy(t, { refuse: 403 })];
    const conditions = [
      { type: 'ControlPlaneHealthy', status: 'False', reason: 'Down', message: 'no \u001b[31m answer' },
    ];
    const anonymous = '{"status":{"userInfo":{"username":"system:anonymous"}}}';
    const { blocks, stdout, exitCode } = await check(t, {
      proxied: { ...clusterOf(spoke), 'proxy-url': proxy.url },
      refused: { ...clusterOf(spoke), 'proxy-url': closed.url },
      unhealthy: { ...clusterOf(spoke), status: { conditions, version: { kubernetes: 'v1.33.0' } } },
      page: await startOddServer(t, { selfsubjectreviews: [200, '<html>'] }),
      anonymous: await startOddServer(t, { selfsubjectreviews: [201, anonymous] }),
      forbidden: await startOddServer(t, { selfsubjectreviews: [403, '{"kind":"Status","message":"no"}'] }),
      starting: await startOddServer(t, { selfsubjectreviews: [503, '{"kind":"Status","message":"etcd is away"}'] }),
      busy: await startOddServer(t, { selfsubjectreviews: [429, '{"kind":"Status","message":"too many"}'] }),
      old: await startOddServer(t, { version: [200, '{"gitVersion":"v1.26.0"}'] }),
      none: await startOddServer(t, { version: [200, '[]'] }),
      empty: { status: { accessProviders: null } },
    });
    const expected: Readonly<Record<string, RegExp>> = {
      proxied: /ok {4}proxy .* http:\/\/127\.0\.0\.1:\d+, by the profile/,
      refused: /FAIL {2}proxy .* PROXY_FAILED: .*403/,
      unhealthy:
        /warn {2}profile .*not reported as healthy\n.*warning: .*False \(Down: no \\u001b\[31m answer\)[\s\S]*warn {2}version .* v1\.36\.0\S*\n.*warning: the profile says v1\.33\.0/,
      page: /FAIL {2}authentication .* it does not answer as a Kubernetes API server does \(status 200\)/,
      anonymous: /FAIL {2}authentication .* did not look at the credential/,
      forbidden: /FAIL {2}identity .* \(status 403, no\)\n.*system:basic-user/,
      starting: /FAIL {2}authentication .* the cluster answers with status 503: etcd is away\n.*its etcd/,
      busy: /FAIL {2}authentication .* status 429: too many\n.*ask again later/,
      old: /- {5}identity .* the cluster does not support SelfSubjectReview\n.*v1\.26\.0/,
      none: /FAIL {2}version /,
      empty: /FAIL {2}provider .* NO_MATCHING_PROVIDER/,
      unpublished: /FAIL {2}profile .* NO_MATCHING_PROVIDER: status: is missing/,
    };
    for (const [name, pattern] of Object.entries(expected)) assert.match(blocks[name] ?? '', pattern, name);
    assert.match(stdout, /^12 clusters: 3 ok \(1 with warnings\), 9 failed \(profile 1, provider 1, proxy 1,/m);
    assert.equal(exitCode, 10);
  });

  test('gives up a plugin that hangs after --timeout, and leaves no process', async (t) => {
    const code = 'echo $$ > "$DIR/pid"; exec sleep 100';
    const profiles = { hangs: { server: 'https://127.0.0.1:1' } };
    const { stdout, exitCode, plugin } = await check(t, profiles, { code, args: ['--timeout', '1s'] });
    assert.match(stdout, /FAIL {2}plugin .* nothing came within 1 s\n.*see what hangs, or give it more --timeout/);
    assert.equal(exitCode, 10);
    const pid = await readFile(join(plugin.folder, 'pid'), 'utf8').catch(() => '');
    if (pid !== '') await ended(t, Number(pid));
  });

  test('says so where no ClusterProfile is there to check', async (t) => {
    const run = ['check', '-f', '-', '-n', 'empty', '--clusterprofile-access-provider=google=/plugin'];
    const { stdout, stderr, exitCode } = await runProgram(t, run, { input: '{"kind":"ClusterProfile"}' });
    assert.deepEqual([stdout, stderr, exitCode], ['', 'no ClusterProfiles are there; -A looks in all namespaces', 0]);
  });

  test('needs providers, a time and a number that are such', async (t) => {
    const cases = [
      [[], /^error: check needs to know the controller's access providers/],
      [['--timeout', '5'], /^error: --timeout 5: has to be a duration/],
      [['--parallel', '0'], /^error: --parallel 0: has to be a whole number of 1 or more$/],
    ] as const;
    const input = '{"kind":"ClusterProfile"}';
    await Promise.all(
      cases.map(async ([args, expected]) => {
        const { stderr } = await runProgram(t, ['check', '-f', '-', ...args], { input });
        assert.match(stderr, expected);
      }),
    );
  });
});

// Each stage of a check, beside servers that answer in odd ways.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { check, type OddAnswer, startOddServer, working } from '../../fixtures/checked.ts';
import { startCluster } from '../../fixtures/fleet.ts';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { clusterOf } from '../../fixtures/kubeconfigs.ts';
import { startHttpProxy } from '../../fixtures/proxies.ts';

const onlyItself = {
  incomplete: false,
  resourceRules: [
    { verbs: ['create'], resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'] },
    // From Kubernetes 1.37 on.
    { verbs: ['get', 'list', 'watch'], resources: ['clustertrustbundles'] },
  ],
};
const rules = (status: object): OddAnswer => [201, JSON.stringify({ status })];

describe('clusterprofile check', () => {
  test('tells what is wrong at each stage', async (t) => {
    const spoke = await startCluster(t, { name: 'v1.34.1' });
    const proxy = await startHttpProxy(t);
    const [closed, locked] = [await startHttpProxy(t, { refuse: 403 }), await startHttpProxy(t, { refuse: 407 })];
    const conditions = [
      { type: 'ControlPlaneHealthy', status: 'False', reason: 'Down', message: 'no \u001b[31m answer' },
    ];
    const anonymous = '{"status":{"userInfo":{"username":"system:anonymous"}}}';
    const refusedToAll = JSON.stringify({
      kind: 'Status',
      message: 'selfsubjectreviews is forbidden: User "system:anonymous" cannot create resource',
    });
    const foreign = { name: 'guarded', cluster: { server: 'https://elsewhere.example' } };
    const profiles = {
      proxied: { ...clusterOf(spoke), 'proxy-url': proxy.url },
      refused: { ...clusterOf(spoke), 'proxy-url': closed.url },
      locked: { ...clusterOf(spoke), 'proxy-url': locked.url },
      unhealthy: { ...clusterOf(spoke), status: { conditions, version: { kubernetes: 'v1.33.0' } } },
      page: await startOddServer(t, { selfsubjectreviews: [200, '<html>'] }),
      anonymous: await startOddServer(t, { selfsubjectreviews: [201, anonymous] }),
      dropped: await startOddServer(t, { selfsubjectreviews: [403, refusedToAll] }),
      firewall: await startOddServer(t, { selfsubjectreviews: [403, '<html><title>Access\n denied</title>'] }),
      gateway: await startOddServer(t, { selfsubjectreviews: [502, '<TITLE>502 Bad Gateway</TITLE>'] }),
      login: await startOddServer(t, { selfsubjectreviews: [302, '', 'https://sso.example.com/in?state=s3cret'] }),
      route: await startOddServer(t, { selfsubjectreviews: [404, '{"message":"no Route matched"}'] }),
      forbidden: await startOddServer(t, { selfsubjectreviews: [403, '{"kind":"Status","message":"no"}'] }),
      starting: await startOddServer(t, { selfsubjectreviews: [503, '{"kind":"Status","message":"etcd is away"}'] }),
      busy: await startOddServer(t, { selfsubjectreviews: [429, '{"kind":"Status","message":"too many"}'] }),
      old: await startOddServer(t, { version: [200, '{"gitVersion":"v1.26.0"}'] }),
      none: await startOddServer(t, { version: [200, '[]'] }),
      flood: await startOddServer(t, { version: [200, JSON.stringify('x'.repeat(9_000_000))] }),
      empty: { status: { accessProviders: null } },
      bare: {},
      authority: { ...clusterOf(spoke), 'certificate-authority-data': 'YQ==' },
      clear: { server: 'http://127.0.0.1:8080' },
      foreign: { status: { accessProviders: [foreign] } },
      nowhere: { server: 'https://spoke.invalid' },
    };
    const args = [
      '--clusterprofile-access-provider=guarded=/plugin',
      '--clusterprofile-access-provider-option=guarded=allowedServers=[https://*.example.com]',
    ];
    const { blocks, stdout, exitCode } = await check(t, profiles, { args });
    const expected: Readonly<Record<string, RegExp>> = {
      proxied: /ok {4}proxy .* http:\/\/127\.0\.0\.1:\d+, by the profile/,
      refused: /FAIL {2}proxy .* PROXY_FAILED: .*403/,
      unhealthy:
        /FAIL {2}profile .* CONTROL_PLANE_UNHEALTHY: a fleet keeps it in NotReady: ControlPlaneHealthy is False \(Down: no \\u001b\[31m answer\)\n.*cluster manager[\s\S]*warn {2}version .* v1\.36\.0\S*\n.*warning: the profile says v1\.33\.0/,
      page: /FAIL {2}authentication .* it does not answer as a Kubernetes API server does \(status 200\)/,
      locked: /FAIL {2}proxy .* PROXY_AUTH_REQUIRED: .*, by the profile: requires a login \(407\).*\n.*set HTTPS_PROXY/,
      anonymous: /FAIL {2}authentication .* the credential did not arrive: .*\n.*drops the Authorization header/,
      dropped: /FAIL {2}authentication .* the credential did not arrive: .*\n.*drops the Authorization header/,
      firewall: /FAIL {2}authentication .* \(status 403: a web page, "Access denied"\)\n.*gateway or firewall/,
      gateway: /FAIL {2}authentication .* \(status 502: a web page, "502 Bad Gateway"\)\n.*log of the gateway/,
      login: /FAIL {2}authentication .* it redirects to https:\/\/sso\.example\.com\/in \(status 302\)\n/,
      route: /FAIL {2}authentication .* \(status 404: no Route matched\)\n.*the path of server/,
      forbidden: /FAIL {2}identity .* \(status 403, no\)\n.*system:basic-user/,
      starting: /FAIL {2}authentication .* the cluster answers with status 503: etcd is away\n.*its etcd/,
      busy: /FAIL {2}authentication .* status 429: too many\n.*retry later/,
      old: /- {5}identity .* the cluster does not support SelfSubjectReview\n.*v1\.26\.0/,
      none: /FAIL {2}version /,
      flood: /FAIL {2}version .* RESPONSE_TOO_LARGE/,
      empty: /FAIL {2}provider .* NO_MATCHING_PROVIDER/,
      bare: /FAIL {2}profile .* SERVER_INVALID/,
      authority: /FAIL {2}profile .* CA_INVALID/,
      clear: /FAIL {2}provider .* SERVER_INSECURE/,
      foreign: /FAIL {2}provider .* SERVER_NOT_ALLOWED/,
      nowhere: /FAIL {2}connection .* HOST_NOT_FOUND/,
      unpublished: /FAIL {2}profile .* NO_MATCHING_PROVIDER: status: is missing/,
    };
    for (const [name, pattern] of Object.entries(expected)) assert.match(blocks[name] ?? '', pattern, name);
    assert.match(stdout, /^24 clusters: 2 ok, 22 failed \(profile 4, provider 3, proxy 2, connection 1,/m);
    assert.doesNotMatch(stdout, /s3cret|bind .*anonymous/);
    assert.equal(exitCode, 10);
    assert.match(stdout, /\n {3}2 x the credential did not arrive: .* \(fleet\/anonymous, fleet\/dropped\)\n/);
  });

  test('fails where the API server is not ready, and says which of its checks fail', async (t) => {
    const etcd =
      '[+]ping ok\n[-]etcd failed: reason withheld\n[-]poststarthook/crd failed: not synced\nreadyz check failed\n';
    const { blocks, stdout, exitCode } = await check(
      t,
      {
        etcd: await startOddServer(t, { ...working, 'readyz?verbose': [500, etcd] }),
        gateway: await startOddServer(t, { ...working, 'readyz?verbose': [502, 'Bad Gateway'] }),
        ready: await startOddServer(t, { ...working, 'readyz?verbose': [200, '[+]etcd ok\n'] }),
        hidden: await startOddServer(t, { ...working, 'readyz?verbose': [403, '{"kind":"Status","message":"no"}'] }),
        unserved: await startOddServer(t, working),
      },
      { args: ['-q', 'etcd', 'gateway', 'ready', 'hidden', 'unserved'] },
    );
    assert.match(
      blocks.etcd ?? '',
      /FAIL {2}ready .* not ready \(status 500\): \[-\]etcd failed, \[-\]poststarthook\/crd failed: not synced\n.*its etcd/,
    );
    assert.match(blocks.gateway ?? '', /FAIL {2}ready .* not ready \(status 502\)\n/);
    assert.deepEqual(Object.keys(blocks), ['etcd', 'gateway']);
    assert.match(stdout, /^5 clusters: 3 ok, 2 failed \(ready 2\)$/m);
    assert.equal(exitCode, 18);
  });

  test('prints what docs/command-line.md says of a cluster that answers, and where nothing works', async (t) => {
    const readyz = '[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n';
    const profiles = {
      'spoke-1': await startOddServer(t, {
        ...working,
        selfsubjectaccessreviews: [201, '{"status":{"allowed":false}}'],
        selfsubjectrulesreviews: rules(onlyItself),
        'readyz?verbose': [500, readyz],
      }),
    };
    const { stdout, plugin } = await check(t, profiles, { args: ['spoke-1', '--can-i', 'list namespaces'] });
    const names = { [plugin.command]: '/plugins/gke-gcloud-auth-plugin', 'fake-cluster-ca': 'kubernetes' };
    assertDocumented(
      "clusterprofile check --clusterprofile-provider-file providers.yaml --can-i 'list namespaces' spoke-1",
      `${withoutRun(stdout, names)}\n`,
    );
  });

  test('fails where the identity lacks a right of --can-i, and says where it has none at all', async (t) => {
    const review = (body: string): OddAnswer => {
      const { verb, namespace } = JSON.parse(body).spec.resourceAttributes;
      return [201, JSON.stringify({ status: { allowed: verb === 'list', reason: namespace ? 'no RoleBinding' : '' } })];
    };
    const some = { ...onlyItself, resourceRules: [{ verbs: ['list'], resources: ['namespaces'] }] };
    const profiles = {
      some: await startOddServer(t, {
        ...working,
        selfsubjectaccessreviews: review,
        selfsubjectrulesreviews: rules(some),
      }),
      none: await startOddServer(t, {
        ...working,
        selfsubjectaccessreviews: [201, '{"status":{"allowed":false}}'],
        selfsubjectrulesreviews: rules(onlyItself),
      }),
      unserved: await startOddServer(t, working),
    };
    const names = Object.keys(profiles);
    const get = 'get  deployments.apps/web -n shop --subresource status';
    const asked = await check(t, profiles, { args: [...names, '--can-i', 'list namespaces', '--can-i', get] });
    assert.match(
      asked.blocks.some ?? '',
      /FAIL {2}permissions .* it may not get deployments\.apps\/web -n shop --subresource status \(no RoleBinding\)\n.*bind a Role/,
    );
    assert.doesNotMatch(asked.blocks.some ?? '', /warning:/);
    assert.match(asked.blocks.unserved ?? '', /FAIL {2}permissions .*\(status 404\)\n.*system:basic-user/);
    assert.equal(asked.exitCode, 19);
    const allowed = await check(t, profiles, { args: ['some', '--can-i', 'list namespaces'] });
    assert.match(allowed.blocks.some ?? '', /ok {4}permissions .* it may list namespaces\n/);
    assert.equal(allowed.exitCode, 0);
    const mistaken = await check(t, profiles, {
      args: ['some', '--can-i', 'list podz', '--can-i', 'get x.example.com'],
    });
    assert.match(
      mistaken.blocks.some ?? '',
      /it may not list podz \(there is no resource podz in the core group: did you mean pods\?\), get x\.example\.com \(the cluster has no API group example\.com\)\n.*correct --can-i/,
    );
    const table = await check(t, profiles, {
      args: [...names, '--can-i', 'list pods', '--can-i', 'get pods', '-o', 'wide'],
    });
    const cells = table.stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    assert.deepEqual(cells.slice(0, 3), [
      ['CLUSTER', 'RESULT', 'LIST PODS', 'GET PODS', 'CAUSE'],
      ['fleet/some', 'permissions', 'yes', 'no', 'it may not get pods'],
      ['fleet/none', 'permissions', 'no', 'no', 'it may not list pods, get pods'],
    ]);
    const unasked = await check(t, profiles, { args: names });
    assert.match(
      unasked.blocks.some ?? '',
      /- {5}permissions .* not checked: ask for the rights .* --can-i 'list pods'\n/,
    );
    assert.match(unasked.blocks.none ?? '', /warn {2}permissions .*\n.*warning: no role allows this identity anything/);
    assert.equal(unasked.exitCode, 0);
  });
});

// The hub as every verb asks it, by the example of get.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { startCluster } from '../fixtures/fleet.ts';
import { kubeconfig as kubeconfigOf } from '../fixtures/kubeconfigs.ts';
import { listen } from '../fixtures/listen.ts';
import { clusterOf, profileOf, startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { runProgram, writeInput, writeKubeconfig } from '../fixtures/program.ts';

describe('clusterprofile, where the hub is slow, busy or refuses', () => {
  test('waits for the hub as long as --request-timeout says', async (t) => {
    const { port } = await listen(t, createServer());
    const text = kubeconfigOf({ exec: null, cluster: { server: `http://127.0.0.1:${port}` } });
    const kubeconfig = await writeInput(t, 'kubeconfig', text);
    const [hangs, wrong] = await Promise.all([
      runProgram(t, ['--request-timeout=300ms', 'get', '--kubeconfig', kubeconfig]),
      runProgram(t, ['get', '--request-timeout', 'soon', '--kubeconfig', kubeconfig]),
    ]);
    assert.match(hangs.stderr, /^error: the hub http:\S+ has not answered within 0\.3 s\nhint:/);
    assert.match(wrong.stderr, /^error: --request-timeout soon: must be a duration such as 30s/);
    assert.deepEqual([hangs.exitCode, wrong.exitCode], [4, 2]);
  });

  test('ends with an error where a list never ends', async (t) => {
    const endless = async (next: (page: number) => string) => {
      let page = 0;
      const body = () => ({ metadata: { continue: next(page++) }, items: [] });
      const server = createServer((_request, response) => response.end(JSON.stringify(body())));
      const { port } = await listen(t, server);
      const text = kubeconfigOf({ exec: null, cluster: { server: `http://127.0.0.1:${port}` } });
      return runProgram(t, ['get', '--kubeconfig', await writeInput(t, 'kubeconfig', text)]);
    };
    const [repeated, more] = await Promise.all([
      endless((page) => `page-${page % 3}`),
      endless((page) => `page-${page}`),
    ]);
    assert.match(
      repeated.stderr,
      /^error: the hub http\S+ does not end its list of clusterprofiles: a page continues with/,
    );
    assert.match(
      more.stderr,
      /^error: the hub http\S+ does not end its list of clusterprofiles: it has more than 1000 pages\nhint:/,
    );
    assert.deepEqual([repeated.exitCode, more.exitCode], [4, 4]);
  });

  test('asks again where the hub is busy, starts or drops the connection, and begins a list again that has expired', async (t) => {
    const { hub, env, spoke } = await startOperatedFleet(t);
    for (const behaviour of [429, 503, 'reset'] as const) hub.failNext(behaviour);
    // kubectl's 0: no limit.
    const first = await runProgram(t, ['get', 'spoke-0', '-o', 'name', '--request-timeout=0'], { env });
    assert.deepEqual([first.stderr, first.exitCode], ['', 0]);
    // More than a page.
    hub.add(Array.from({ length: 500 }, (_, index) => profileOf(`more-${index}`, 'google', clusterOf(spoke))));
    hub.failNext(410, 1, ({ url }) => url.includes('continue='));
    const all = await runProgram(t, ['get', '-o', 'name'], { env });
    assert.deepEqual([all.stderr, new Set(all.stdout.split('\n')).size], ['', 510]);
    assert.equal(all.stdout.split('\n').length, 510);
  });

  test('tells what the hub refuses, what to ask for, what it says itself where it fails, and what a name was meant to be', async (t) => {
    const { hub, env } = await startOperatedFleet(t);
    const bare = await startCluster(t, { tokens: { hub: 'me' } });
    bare.delete({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'clusterprofiles.multicluster.x-k8s.io' },
    });
    const noCrd = { KUBECONFIG: await writeKubeconfig(t, bare, 'hub') };
    const expired = { KUBECONFIG: await writeKubeconfig(t, hub, 'expired') };
    const two = await writeInput(t, 'two.kubeconfig', {
      contexts: ['a', 'b'].map((name) => ({ name, context: { cluster: name, user: name } })),
    });
    const cases = [
      [
        ['spok-1'],
        env,
        /^error: there is no ClusterProfile spok-1 in namespace fleet\nhint: {2}did you mean spoke-1\?$/,
        5,
      ],
      [
        ['nothing-like-it'],
        env,
        /hint: {2}clusterprofile get -n fleet lists those that are there; -A looks in all namespaces$/,
        5,
      ],
      [
        [],
        noCrd,
        /^error: the hub https:\S+ does not know clusterprofiles\.multicluster\.x-k8s\.io v1alpha1\nhint: {2}.*kubectl apply -f \S+\/crds\/multicluster\.x-k8s\.io_clusterprofiles\.yaml$/,
        4,
      ],
      [['spoke-1'], noCrd, /^error: the hub https:\S+ does not know clusterprofiles/, 4],
      [
        [],
        expired,
        /^error: the hub https:\S+ refuses the credential of kubeconfig \S+, context hub: Unauthorized\nhint: {2}log in again/,
        4,
      ],
      [[], { KUBECONFIG: two }, /^error \[KUBECONFIG_INVALID\]: kubeconfig .*current-context/, 3],
      [
        ['--context', 'hbu'],
        env,
        /^error \[KUBECONFIG_INVALID\]: kubeconfig .* names "hbu", which is not in contexts \(found: hub\)\nhint: {2}clusterprofile explain KUBECONFIG_INVALID$/,
        3,
      ],
      [
        ['-f', '-', '--context', 'hub'],
        env,
        /^error: --context is for the hub, and -f reads files instead of it\nhint: {2}give one of the two$/,
        2,
      ],
    ] as const;
    await Promise.all(
      cases.map(async ([args, variables, expected, code]) => {
        const { stderr, exitCode } = await runProgram(t, ['get', ...args], { env: variables });
        assert.match(stderr, expected);
        assert.equal(exitCode, code, args.join(' '));
      }),
    );
    hub.failNext({ status: 403, message: 'User "operator" cannot list' });
    const forbidden = await runProgram(t, ['get'], { env });
    assert.match(
      forbidden.stderr,
      /^error: the hub https:\S+ does not let you list clusterprofiles\.multicluster\.x-k8s\.io in namespace fleet: .*cannot list\nhint: {2}ask for the verb list on clusterprofiles\.multicluster\.x-k8s\.io in namespace fleet, or choose another namespace with -n$/,
    );
    hub.failNext({ status: 500, message: 'etcdserver: request timed out' }, 100);
    const failing = await runProgram(t, ['get'], { env });
    assert.match(
      failing.stderr,
      /answers with status 500: etcdserver: request timed out\nhint: .* its etcd, and what is in front of it$/,
    );
    await hub.close();
    const away = await runProgram(t, ['get'], { env });
    assert.match(
      away.stderr,
      /^error \[CONNECT_FAILED\]: the hub cannot be asked: kubeconfig \S+, context hub, https:\S+: nothing is listening there/,
    );
    assert.deepEqual([forbidden.exitCode, failing.exitCode, away.exitCode], [4, 4, 4]);
  });
});

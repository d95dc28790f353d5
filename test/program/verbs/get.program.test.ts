import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { FakeCluster } from '../../../src/testing/index.ts';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { listen } from '../../fixtures/listen.ts';
import { clusterOf, profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { programFile, runProgram, writeInput, writeKubeconfig } from '../../fixtures/program.ts';
import { temporaryFolder } from '../../fixtures/script.ts';

describe('clusterprofile get', () => {
  test('prints what docs/command-line.md says, with what the providers make of each', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const [table, wide, names, json] = await Promise.all([
      runProgram(t, ['get', ...flags], { env }),
      runProgram(t, ['get', 'spoke-3', 'spoke-7', '-o', 'wide', '--no-headers', ...flags], { env }),
      runProgram(t, ['get', '-A', '-l', 'env=prod', '-o', 'name'], { env }),
      runProgram(t, ['get', 'fleet/spoke-3', '-o', 'json', ...flags], { env }),
    ]);
    assertDocumented('clusterprofile get --clusterprofile-provider-file providers.yaml', `${table.stdout}\n`);
    const lines = withoutRun(wide.stdout).split('\n');
    assert.equal(lines.length, 2);
    assert.match(
      lines[0] ?? '',
      /^fleet +spoke-3 +ocm +True +azure +none \(NO_MATCHING_PROVIDER\) +- +- +status\.accessProviders: offers azure/,
    );
    assert.match(lines[1] ?? '', /^fleet +spoke-7 +ocm +True +google +google +- +https:\/\/127\.0\.0\.1:6443 +-$/);
    assert.equal(names.stdout.split('\n').length, 10);
    assert.match(names.stdout, /^fleet\/spoke-0$/m);
    const [item] = JSON.parse(json.stdout).items;
    assert.deepEqual([item.name, item.accessTypes, item.error.code], ['spoke-3', ['azure'], 'NO_MATCHING_PROVIDER']);
  });

  test('says that there are none, where there are none', async (t) => {
    const { env } = await startOperatedFleet(t);
    const { stdout, stderr, exitCode } = await runProgram(t, ['get', '-n', 'default'], { env });
    const said = 'No resources found in default namespace. -A looks in all namespaces.';
    assert.deepEqual([stdout, stderr, exitCode], ['', said, 0]);
    const all = await runProgram(t, ['get', '-A', '-l', 'env=none'], { env });
    assert.deepEqual([all.stdout, all.stderr, all.exitCode], ['', 'No resources found.', 0]);
  });

  test('-o name prints what every verb takes as a name, with -A too', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const names = await Promise.all(
      [['-n', 'fleet'], ['-A'], []].map((where) => runProgram(t, ['get', 'spoke-1', ...where, '-o', 'name'], { env })),
    );
    const said = names.map(({ stdout }) => stdout);
    assert.deepEqual(said, [
      'clusterprofile.multicluster.x-k8s.io/spoke-1',
      'fleet/spoke-1',
      'clusterprofile.multicluster.x-k8s.io/spoke-1',
    ]);
    const verbs = ['get', 'check', 'resolve', 'kubeconfig'] as const;
    const results = await Promise.all(
      verbs.flatMap((verb) => said.map((name) => runProgram(t, [verb, name, ...flags], { env }))),
    );
    for (const { stdout, exitCode } of results) {
      assert.equal(exitCode, 0);
      assert.match(stdout, /spoke-1/);
    }
  });

  test('has the outputs and the selections of kubectl', async (t) => {
    const { env, hub, spoke } = await startOperatedFleet(t);
    const labels = { env: 'lab', 'example.com/tier': 'edge' };
    const more = profileOf('spoke-10', 'google', clusterOf(spoke));
    hub.add([{ ...more, metadata: { ...more.metadata, labels } }]);
    const rows = (...args: string[]) => runProgram(t, ['get', ...args], { env });
    const cases = [
      [['spoke-10', '-o', 'jsonpath={.metadata.labels.env}'], 'lab'],
      [['spoke-10', '-o', 'jsonpath={.metadata.labels.example\\.com/tier}'], 'edge'],
      [['-l', 'env=lab', '-o', 'jsonpath={.items[*].metadata.name}'], 'spoke-10'],
      [
        [
          'spoke-10',
          'spoke-2',
          '--sort-by',
          '.metadata.name',
          '-o',
          'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}',
        ],
        'spoke-2\nspoke-10',
      ],
      [
        ['-l', 'env=lab', '-o', 'custom-columns=NAME:.metadata.name,ENV:.metadata.labels.env,NONE:.spec.none'],
        'NAME       ENV   NONE\nspoke-10   lab   <none>',
      ],
      [
        ['spoke-10', '--no-headers', '-L', 'example.com/tier,none', '--show-labels'],
        'fleet   spoke-10   ocm   True   google   ?   edge   -   env=lab,example.com/tier=edge',
      ],
      [['--field-selector', 'metadata.name=spoke-4', '-o', 'name'], 'clusterprofile.multicluster.x-k8s.io/spoke-4'],
      [['none', 'spoke-4', '--ignore-not-found', '-o', 'name'], 'clusterprofile.multicluster.x-k8s.io/spoke-4'],
      [['none', '--ignore-not-found'], ''],
    ] as const;
    const results = await Promise.all(cases.map(([args]) => rows(...args)));
    for (const [index, [args, expected]] of cases.entries()) {
      const { stdout, stderr, exitCode } = results[index] ?? {};
      assert.deepEqual([stdout, stderr, exitCode], [expected, '', 0], args.join(' '));
    }
    const custom = [
      '-o',
      'custom-columns=NAME:.metadata.name,ENV:.metadata.labels.env,TYPES:.status.accessProviders[*].name',
    ];
    const documented = await rows('spoke-1', 'spoke-3', ...custom);
    assertDocumented(`clusterprofile get spoke-1 spoke-3 -o '${custom[1]}'`, `${documented.stdout}\n`);
    const titles = await rows('spoke-10', '-L', 'example.com/tier', '-L', 'env', '--show-labels');
    assert.match(titles.stdout, /PROVIDER +TIER +ENV +LABELS\n/);
    const refused = await Promise.all([
      rows('-o', 'jsonpath={.items['),
      rows('-o', 'custom-columns=NAME'),
      rows('--field-selector', 'spec.displayName=x'),
      rows('spoke-1', '--field-selector', 'metadata.name=spoke-1'),
    ]);
    assert.match(refused[0]?.stderr ?? '', /^error: JSONPath \{\.items\[: a \{ has no partner\nhint:/);
    assert.match(refused[1]?.stderr ?? '', /^error: -o custom-columns: NAME is not TITLE:PATH\nhint:/);
    assert.match(refused[2]?.stderr ?? '', /^error: the hub \S+ answers with status 400: field label not supported/);
    assert.match(refused[3]?.stderr ?? '', /^error: names and --field-selector contradict each other/);
    assert.deepEqual(
      refused.map(({ exitCode }) => exitCode),
      [2, 2, 4, 2],
    );
  });

  test('waits for the hub as long as --request-timeout says', async (t) => {
    const { port } = await listen(t, createServer());
    const kubeconfig = await writeInput(t, 'kubeconfig', {
      'current-context': 'hub',
      contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'me' } }],
      clusters: [{ name: 'hub', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'me', user: {} }],
    });
    const [hangs, wrong] = await Promise.all([
      runProgram(t, ['--request-timeout=300ms', 'get', '--kubeconfig', kubeconfig]),
      runProgram(t, ['get', '--request-timeout', 'soon', '--kubeconfig', kubeconfig]),
    ]);
    assert.match(hangs.stderr, /^error: the hub http:\S+ has not answered within 0\.3 s\nhint:/);
    assert.match(wrong.stderr, /^error: --request-timeout soon: has to be a duration such as 30s/);
    assert.deepEqual([hangs.exitCode, wrong.exitCode], [4, 2]);
  });

  test('takes options before the verb, as kubectl does', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const { KUBECONFIG = '' } = env;
    const [before, equal, unknown] = await Promise.all([
      runProgram(t, ['--kubeconfig', KUBECONFIG, '-n', 'fleet', ...flags, 'get', 'spoke-1', '-o', 'name']),
      runProgram(t, [`--kubeconfig=${KUBECONFIG}`, '--context=hub', '-A', '-o=name', 'get', 'spoke-1']),
      runProgram(t, ['-n', 'fleet', 'gte']),
    ]);
    assert.deepEqual([before.stderr, before.stdout], ['', 'clusterprofile.multicluster.x-k8s.io/spoke-1']);
    assert.deepEqual([equal.stderr, equal.stdout], ['', 'fleet/spoke-1']);
    assert.match(unknown.stderr, /^error: unknown command 'gte'\nhint: {2}did you mean get\?/);
  });

  test('ends with an error where a list never ends', async (t) => {
    const endless = async (next: (page: number) => string) => {
      let page = 0;
      const body = () => ({ metadata: { continue: next(page++) }, items: [] });
      const server = createServer((_request, response) => response.end(JSON.stringify(body())));
      const { port } = await listen(t, server);
      const kubeconfig = await writeInput(t, 'kubeconfig', {
        'current-context': 'hub',
        contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'me' } }],
        clusters: [{ name: 'hub', cluster: { server: `http://127.0.0.1:${port}` } }],
        users: [{ name: 'me', user: {} }],
      });
      return runProgram(t, ['get', '--kubeconfig', kubeconfig]);
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

  test('ends with 1 where the disk is full, and says so', async (t) => {
    const { env } = await startOperatedFleet(t);
    const script = 'exec "$0" "$@" > /dev/full';
    for (const args of [['get'], ['--help'], ['get', '--help'], ['--version'], []]) {
      const run = ['-c', script, process.execPath, programFile, ...args];
      const { stderr, exitCode } = await execa('sh', run, { env, reject: false });
      assert.equal(stderr, 'error: the output cannot be written: ENOSPC: no space left on device, write');
      assert.equal(exitCode, 1);
    }
  });

  test('leaves no part of its output out where a file may not grow as long as that', async (t) => {
    const { env } = await startOperatedFleet(t);
    const file = join(await temporaryFolder(t), 'out');
    // In blocks of 512 bytes.
    const script = `trap '' XFSZ; ulimit -f 1; exec "$0" "$@" > '${file}'`;
    const { stderr, exitCode } = await execa('sh', ['-c', script, process.execPath, programFile, 'get', '-o', 'json'], {
      env,
      reject: false,
    });
    assert.match(stderr, /^error: the output cannot be written: EFBIG/);
    assert.equal(exitCode, 1);
  });

  test('asks again where the hub is busy, starts or drops the connection, and begins a list again that has expired', async (t) => {
    const { hub, env, spoke } = await startOperatedFleet(t);
    for (const behaviour of [429, 503, 'reset'] as const) hub.failNext(behaviour);
    const first = await runProgram(t, ['get', 'spoke-0', '-o', 'name'], { env });
    assert.deepEqual([first.stderr, first.exitCode], ['', 0]);
    // More than a page.
    hub.add(Array.from({ length: 500 }, (_, index) => profileOf(`more-${index}`, 'google', clusterOf(spoke))));
    hub.failNext(410, 1, ({ url }) => url.includes('continue='));
    const all = await runProgram(t, ['get', '-o', 'name'], { env });
    assert.deepEqual([all.stderr, new Set(all.stdout.split('\n')).size], ['', 510]);
    assert.equal(all.stdout.split('\n').length, 510);
  });

  test("shows what a hub says itself where it can't answer", async (t) => {
    const { hub, env } = await startOperatedFleet(t);
    hub.failNext({ status: 500, message: 'etcdserver: request timed out' }, 100);
    const { stderr, exitCode } = await runProgram(t, ['get'], { env });
    assert.match(
      stderr,
      /answers with status 500: etcdserver: request timed out\nhint: .* its etcd, and what stands before it$/,
    );
    assert.equal(exitCode, 4);
  });

  test('tells what the hub refuses, what to ask for, and what a name was meant to be', async (t) => {
    const { hub, env } = await startOperatedFleet(t);
    const bare = await FakeCluster.start({ tokens: { hub: 'me' } });
    t.after(() => bare.close());
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
        /^error \[KUBECONFIG_INVALID\]: kubeconfig .* names "hbu", which is not in contexts; there are hub\nhint: {2}clusterprofile explain KUBECONFIG_INVALID$/,
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
    await hub.close();
    const away = await runProgram(t, ['get'], { env });
    assert.match(
      away.stderr,
      /^error \[CONNECT_FAILED\]: the hub cannot be asked: kubeconfig \S+, context hub, https:\S+: nothing listens there/,
    );
    assert.deepEqual([forbidden.exitCode, away.exitCode], [4, 4]);
  });
});

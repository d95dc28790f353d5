import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { type ProgramResult, runProgram, writeInput } from '../../fixtures/program.ts';

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

  test('--as and --as-group impersonate on the hub', async (t) => {
    const { hub, env } = await startOperatedFleet(t);
    const seen = new Set<string>();
    hub.onRequest = ({ url, headers }) => {
      if (url.includes('/clusterprofiles'))
        seen.add(`${headers['impersonate-user']} of ${headers['impersonate-group']}`);
    };
    const as = ['--as', 'jane', '--as-group', 'admins'];
    const { exitCode, stderr } = await runProgram(t, ['get', '-A', ...as], { env });
    assert.deepEqual([exitCode, [...seen]], [0, ['jane of admins']], stderr);
  });

  test('says that there are none, where there are none, as check does', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const said = 'No resources found in default namespace. -A looks in all namespaces.';
    for (const [args, expected] of [
      [['get', '-n', 'default'], said],
      [['check', '-n', 'default', ...flags], said],
      [['get', '-A', '-l', 'env=none'], 'No resources found.'],
    ] as const) {
      const { stdout, stderr, exitCode } = await runProgram(t, args, { env });
      assert.deepEqual([stdout, stderr, exitCode], ['', expected, 0]);
    }
  });

  test('-o name prints what every verb takes as a name, with -A too', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const names = await Promise.all(
      [[], ['-A']].map((where) => runProgram(t, ['get', 'spoke-1', ...where, '-o', 'name'], { env })),
    );
    const said = names.map(({ stdout }) => stdout);
    assert.deepEqual(said, ['clusterprofile.multicluster.x-k8s.io/spoke-1', 'fleet/spoke-1']);
    const verbs = ['get', 'check', 'resolve', 'kubeconfig'] as const;
    const results = await Promise.all(
      verbs.flatMap((verb) => said.map((name) => runProgram(t, [verb, name, ...flags], { env }))),
    );
    for (const { stdout, exitCode } of results) {
      assert.equal(exitCode, 0);
      assert.match(stdout, /spoke-1/);
    }
  });

  test('counts a ClusterProfile of several files once: the last one does', async (t) => {
    const inLab = { ...profileOf('a', 'google', {}), metadata: { namespace: 'lab', name: 'a' } };
    const [one, two] = await Promise.all(
      [
        [profileOf('a', 'google', { server: 'https://one.example' }), profileOf('b', 'google', {})],
        [profileOf('a', 'google', { server: 'https://two.example' }), inLab],
      ].map((items, index) => writeInput(t, `${index}.json`, { items })),
    );
    const flag = '--clusterprofile-access-provider=google=/plugin';
    const get = ['get', '-f', one ?? '', '-f', two ?? '', flag, '-o', 'json'];
    const [all, named] = await Promise.all([runProgram(t, get), runProgram(t, [...get, 'a', 'fleet/a'])]);
    const rows = ({ stdout }: ProgramResult) =>
      JSON.parse(stdout).items.map(
        ({ namespace, name, server }: Readonly<Record<string, string>>) => `${namespace}/${name}: ${server}`,
      );
    assert.deepEqual(rows(all), ['fleet/a: https://two.example', 'fleet/b: undefined', 'lab/a: undefined']);
    assert.deepEqual(rows(named), ['fleet/a: https://two.example', 'lab/a: undefined']);
  });

  test('has the selections of kubectl, and its errors', async (t) => {
    const { env } = await startOperatedFleet(t);
    const rows = (...args: string[]) => runProgram(t, ['get', ...args], { env });
    const cases = [
      [['--field-selector', 'metadata.name=spoke-4', '-o', 'name'], 'clusterprofile.multicluster.x-k8s.io/spoke-4'],
      [['none', 'spoke-4', '--ignore-not-found', '-o', 'name'], 'clusterprofile.multicluster.x-k8s.io/spoke-4'],
      [['none', '--ignore-not-found'], ''],
      [['cp', 'spoke-4', '-o', 'name'], 'clusterprofile.multicluster.x-k8s.io/spoke-4'],
      [['clusterprofiles', 'spoke-4', '-o', 'name'], 'clusterprofile.multicluster.x-k8s.io/spoke-4'],
    ] as const;
    const results = await Promise.all(cases.map(([args]) => rows(...args)));
    for (const [index, [args, expected]] of cases.entries()) {
      const { stdout, stderr, exitCode } = results[index] ?? {};
      assert.deepEqual([stdout, stderr, exitCode], [expected, '', 0], args.join(' '));
    }
    const refused = await Promise.all([
      rows('--field-selector', 'spec.displayName=x'),
      rows('spoke-1', '--field-selector', 'metadata.name=spoke-1'),
    ]);
    assert.match(refused[0].stderr, /^error: the hub \S+ answers with status 400: field label not supported/);
    assert.match(refused[1].stderr, /^error: names and --field-selector contradict each other/);
    assert.deepEqual(
      refused.map(({ exitCode }) => exitCode),
      [4, 2],
    );
  });
});

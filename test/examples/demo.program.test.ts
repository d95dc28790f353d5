import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from '../fixtures/script.ts';

test('the demo calls four clusters through two rotations, and explains what it shows', async () => {
  const { stdout } = await execa(process.execPath, [
    fileURLToPath(new URL('../../examples/demo/demo.ts', import.meta.url)),
  ]);
  const [header = [], ...rows] = stdout
    .split('\n')
    .filter((line) => /^(CLUSTER|my-|spoke-)/.test(line))
    .map((line) => line.split(/ {2,}/));
  assert.equal(rows.length, 4);
  assert.ok(!stdout.includes('\u001b'), 'colours are for terminals');
  for (const row of rows) {
    const value = (column: string) => Number(row[header.indexOf(column)]);
    assert.deepEqual([value('PLUGIN RUNS'), value('REQUESTS')], [3, 75]);
    assert.ok(value('401') > 0);
    assert.equal(value('SEEN'), value('REQUESTS') + value('401'));
  }
  for (const [what, pattern] of [
    [
      'a flag on a line of its own',
      /^ {2}--clusterprofile-sourced-cli-args-policy spire-agent=Append\n {6}a profile of this type may/m,
    ],
    ['progress', /^Round 3 of 3: .*\n {2}google: 25 requests answered, as google:controller, in \d+ ms$/m],
    ['where the time went', /^\d+\.\d s in all: .* to start the clusters, .* in plugins [\s\S]* for the requests\.$/m],
  ] as const) {
    assert.match(stdout, pattern, what);
  }
});

test('the demo on real API servers says what it needs where neither Go nor KUBEBUILDER_ASSETS is there', async (t) => {
  const { exitCode, stdout, stderr } = await execa(
    process.execPath,
    [fileURLToPath(new URL('../run-kind.ts', import.meta.url)), 'demo', 'real'],
    { env: { PATH: '/nowhere', XDG_CACHE_HOME: await temporaryFolder(t) }, extendEnv: false, reject: false },
  );
  assert.equal(exitCode, 1, stdout);
  assert.match(stderr, /needs kube-apiserver, etcd and kubectl\. Go is not installed/);
  for (const way of ['KUBEBUILDER_ASSETS', 'Go 1.26', 'docs/walk-through.md']) assert.ok(stderr.includes(way), way);
});

// What stands around the code: workflows, SECURITY.md, docs/stability.md. What they say has to be so.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { defaultKubernetes, kubernetesVersions } from '../e2e/go-programs.ts';
import { read, root } from '../fixtures/docs.ts';

const manifest = JSON.parse(read('package.json'));

interface Step {
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, { readonly 'timeout-minutes'?: number; readonly steps: readonly Step[] }>>;
}

for (const path of globSync('.github/workflows/*.yml', { cwd: root })) {
  describe(path, () => {
    const text = read(path);
    const workflow: Workflow = parse(text);
    const jobs = Object.entries(workflow.jobs);
    const steps = jobs.flatMap(([, job]) => job.steps);

    test('names each action by its commit, with the version beside it', () => {
      const uses = text.split('\n').filter((line) => line.includes('uses:'));
      assert.equal(uses.length, steps.filter((step) => step.uses).length);
      for (const line of uses) assert.match(line, /uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    });

    test('may only read, but for what a job asks for, keeps no login in the checkout, and ends', () => {
      assert.deepEqual(workflow.permissions, { contents: 'read' });
      for (const step of steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))) {
        assert.equal(step.with?.['persist-credentials'], false);
      }
      for (const [name, job] of jobs) assert.ok(job['timeout-minutes'], name);
    });
  });
}

test('the workflow `test` runs what .ci/run does in minutes, on Linux and macOS, with Node 22, 24 and the newest', () => {
  const { test: suite, package: packed } = parse(read('.github/workflows/test.yml')).jobs;
  for (const { matrix } of [suite.strategy, packed.strategy]) {
    assert.deepEqual(matrix.os, ['ubuntu-latest', 'macos-latest']);
  }
  assert.deepEqual(packed.strategy.matrix.node, [22, 24, 'latest']);
  const every = globSync('.github/workflows/*.yml', { cwd: root }).map(read).join('\n');
  // Without seeds and lengths, which differ.
  const steps = [...read('.ci/run').matchAll(/^step (npm .*?)(?: --)?(?: --(?!kind)\S+ \d+)*(?: &)?$/gm)].map(
    ([, step = '']) => step,
  );
  const local = steps.filter((step) => !step.startsWith('npm run demo'));
  assert.ok(local.length > 5);
  for (const step of local) assert.ok(every.includes(step), step);
});

test('the workflow `kubernetes` runs every version that `e2e` does not', () => {
  const { matrix } = parse(read('.github/workflows/kubernetes.yml')).jobs.kubernetes.strategy;
  assert.deepEqual([...matrix.kubernetes, defaultKubernetes].sort(), kubernetesVersions);
});

describe('docs/stability.md', () => {
  const page = read('docs/stability.md');

  test('names the versions that the tests have', () => {
    const compatibility = read('test/package/compatibility.ts');
    for (const [, version = ''] of compatibility.matchAll(/(?:node|'client-node'|undici): '(\d+\.\d+)\.\d+'/g)) {
      assert.ok(page.includes(version), version);
    }
    assert.equal(manifest.engines.node, `>=${/Node (\d+\.\d+) and newer/.exec(page)?.[1]}`);
    const ran = kubernetesVersions.map((version) => {
      const goMod = read(`test/e2e/control-plane/${version}/go.mod`);
      return /k8s\.io\/kubernetes v([\d.]+)/.exec(goMod)?.[1] ?? '';
    });
    for (const version of ran) assert.ok(page.includes(version), version);
  });
});

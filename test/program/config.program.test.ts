// clusterprofile.yaml: the hub, the namespace and the provider file, once.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { runProgram, writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

describe('clusterprofile.yaml', () => {
  test('gives the hub, the namespace and the provider file to each verb, and options win', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const home = await temporaryFolder(t);
    const [, providerFile = ''] = flags;
    const file = join(home, '.config/clusterprofile.yaml');
    await mkdir(dirname(file));
    await writeFile(file, stringify({ kubeconfig: env.KUBECONFIG, context: 'hub', namespace: 'no', providerFile }));
    const run = (...args: string[]) => runProgram(t, args, { env: { HOME: home } });
    const [empty, given, help, kubeconfig, completed] = await Promise.all([
      run('get', '-v'),
      run('get', '-n', 'fleet', '--no-headers', 'spoke-1'),
      run('get', '--help'),
      run('kubeconfig', 'fleet/spoke-1'),
      run('__complete', 'get', '-n', 'fleet', 'spoke-1'),
    ]);
    assert.match(
      empty.stderr,
      /^kubeconfig, context, namespace, providerFile: from \S+\/\.config\/clusterprofile\.yaml\n/,
    );
    assert.match(empty.stderr, /No resources found in no namespace/);
    assert.match(given.stdout, /^fleet +spoke-1 +ocm +True +google +google$/);
    assert.ok(help.stdout.includes(`Defaults from ${file}: kubeconfig ${env.KUBECONFIG}, context hub, namespace no`));
    assert.match(kubeconfig.stdout, new RegExp(`- --kubeconfig\n +- ${env.KUBECONFIG}\n +- --context\n +- hub\n`));
    assert.ok(kubeconfig.stdout.includes(`--clusterprofile-provider-file=${providerFile}`));
    assert.match(completed.stdout, /^spoke-1\t/);
  });

  test('that is wrong is an error with its file and field, and the help is shown all the same', async (t) => {
    const file = await writeInput(t, 'mine.yaml', 'contxt: hub\n');
    const env = { CLUSTERPROFILE_CONFIG: file };
    const [wrong, help, unused, missing] = await Promise.all([
      runProgram(t, ['get'], { env }),
      runProgram(t, ['get', '--help'], { env }),
      runProgram(t, ['version'], { env }),
      runProgram(t, ['get'], { env: { CLUSTERPROFILE_CONFIG: '/nowhere.yaml' } }),
    ]);
    assert.equal(wrong.stderr, `error: ${file}: contxt: is not a field\nhint:  did you mean context?`);
    assert.match(missing.stderr, /^error: CLUSTERPROFILE_CONFIG \/nowhere\.yaml does not exist\n/);
    assert.deepEqual([wrong.exitCode, help.exitCode, unused.exitCode, missing.exitCode], [3, 0, 0, 3]);
  });
});

import assert from 'node:assert/strict';
import { access, chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { programEnvironment, programFile, runProgram, writeInput } from '../../fixtures/program.ts';
import { temporaryFolder } from '../../fixtures/script.ts';

/** The values that are suggested, and the directive. */
const read = (stdout: string) => stdout.split('\n').map((line) => line.split('\t')[0]);

describe('completion', () => {
  test('knows verbs, options, their values, and the names of profiles, namespaces and contexts', async (t) => {
    const { env } = await startOperatedFleet(t);
    const file = await writeInput(t, 'profiles.json', {
      items: [
        { kind: 'ClusterProfile', metadata: { namespace: 'lab', name: 'a' } },
        { kind: 'ClusterProfile', metadata: { namespace: 'lab', name: '$(touch x)' } },
      ],
    });
    // What is typed, and what is suggested.
    const cases: readonly (readonly [typed: string, value?: string | undefined, directive?: string])[] = [
      ['ch', 'check'],
      ['nonsense '],
      ['-n fleet ch', 'check'],
      ['--context '],
      ['--namespace=fleet get spoke-1', 'spoke-1'],
      ['get -n=fleet spoke-1', 'spoke-1'],
      ['get -clusterprofile-access-provider google=/p spoke-1', 'spoke-1'],
      ['get --names', '--namespace'],
      ['get --clusterprofile-provider-f', '--clusterprofile-provider-file'],
      ['get -o w', 'wide'],
      ['get --output=w', '--output=wide'],
      ['get --output = w', 'wide'],
      ['lint --verb', '--verbose'],
      ['get -f ', undefined, ':0'],
      ['get -w spoke-1', 'spoke-1'],
      ['get -A fleet/spoke-2', 'fleet/spoke-2'],
      ['get fleet/spoke-3', 'fleet/spoke-3'],
      ['get -n flee', 'fleet'],
      ['get --context ', 'hub'],
      [`get -f ${file} `, 'a'],
      ['get --kubeconfig /none '],
      ['completion f', 'fish'],
      ['help reso', 'resolve'],
    ];
    const waiting = cases.values();
    // Two at once: nobody waits long at a prompt, and neither does this program.
    const ask = async () => {
      for (const [typed, value, directive = ':4'] of waiting) {
        const { stdout, stderr, exitCode } = await runProgram(t, ['__complete', ...typed.split(' ')], { env });
        const expected = [...(value === undefined ? [] : [value]), directive];
        assert.deepEqual([read(stdout), stderr, exitCode], [expected, '', 0], typed);
      }
    };
    await Promise.all([ask(), ask()]);
  });

  test('is what kubectl asks for under the name of its completion plugin', async (t) => {
    const { stdout } = await runProgram(t, ['get', '-o', 'w'], { name: 'kubectl_complete-clusterprofile' });
    assert.deepEqual(read(stdout), ['wide', ':4']);
  });

  test('in bash comes from a script that can be read twice, and that evaluates nothing of the command line', async (t) => {
    const folder = await temporaryFolder(t);
    const command = join(folder, 'clusterprofile');
    await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${programFile}' "$@"\n`);
    await chmod(command, 0o755);
    const { stdout: script } = await runProgram(t, ['completion', 'bash']);
    const evil = join(folder, 'evil');
    const code = `${script}\n${script}
      ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clusterprofile; echo "\${COMPREPLY[*]}"; }
      ask clusterprofile get -o ''
      ask clusterprofile get --output = y
      ask clusterprofile '$(touch ${evil})' ''`;
    const environment = programEnvironment(folder);
    const { stdout, stderr } = await execa('bash', ['--norc', '-c', code], {
      env: { ...environment, PATH: `${folder}:${environment.PATH}` },
      extendEnv: false,
    });
    assert.deepEqual([stdout, stderr], ['json yaml wide name\nyaml\n', '']);
    await assert.rejects(access(evil));
  });
});

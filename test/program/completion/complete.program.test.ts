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
    const cases = [
      [['ch'], ['check', ':4']],
      [['nonsense', ''], [':4']],
      [
        ['-n', 'fleet', 'ch'],
        ['check', ':4'],
      ],
      [
        ['-n', 'flee'],
        ['fleet', ':4'],
      ],
      [['--kubec'], ['--kubeconfig', ':4']],
      [
        ['--namespace=fleet', 'get', 'spoke-1'],
        ['spoke-1', ':4'],
      ],
      [
        ['get', '--names'],
        ['--namespace', ':4'],
      ],
      [
        ['get', '--clusterprofile-provider-f'],
        ['--clusterprofile-provider-file', ':4'],
      ],
      [
        ['get', '-o', 'w'],
        ['wide', ':4'],
      ],
      [
        ['get', '--output=w'],
        ['--output=wide', ':4'],
      ],
      [
        ['get', '--output', '=', 'w'],
        ['wide', ':4'],
      ],
      [
        ['lint', '--verb'],
        ['--verbose', ':4'],
      ],
      [['get', '-f', ''], [':0']],
      [
        ['get', '-w', 'spoke-1'],
        ['spoke-1', ':4'],
      ],
      [
        ['get', '-A', 'fleet/spoke-2'],
        ['fleet/spoke-2', ':4'],
      ],
      [
        ['get', 'fleet/spoke-3'],
        ['fleet/spoke-3', ':4'],
      ],
      [
        ['get', '-n', 'flee'],
        ['fleet', ':4'],
      ],
      [
        ['get', '--context', ''],
        ['hub', ':4'],
      ],
      [
        ['get', '-f', file, ''],
        ['a', ':4'],
      ],
      [['get', '--kubeconfig', '/none', ''], [':4']],
      [
        ['completion', 'f'],
        ['fish', ':4'],
      ],
      [
        ['help', 'reso'],
        ['resolve', ':4'],
      ],
    ] as const;
    const waiting = cases.values();
    // Two at once: nobody waits long at a prompt, and neither does this program.
    const ask = async () => {
      for (const [words, expected] of waiting) {
        const { stdout, stderr, exitCode } = await runProgram(t, ['__complete', ...words], { env });
        assert.deepEqual([read(stdout), stderr, exitCode], [expected, '', 0], words.join(' '));
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

  test('is refused for a shell that it does not know', async (t) => {
    const { stderr, exitCode } = await runProgram(t, ['completion', 'tcsh']);
    assert.deepEqual(
      [stderr, exitCode],
      ['error: there is no completion for tcsh\nhint:  there is one for bash, zsh, fish', 2],
    );
  });
});

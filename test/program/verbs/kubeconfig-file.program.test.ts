// Names and commands of the contexts that the verb kubeconfig writes, and the file that it keeps.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { assertDocumented } from '../../fixtures/golden.ts';
import { clusterOf, profileKind, profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { runProgram, startProgram, writeInput } from '../../fixtures/program.ts';
import { temporaryFolder } from '../../fixtures/script.ts';
import { until } from '../../fixtures/until.ts';

const flags = ['--clusterprofile-access-provider', 'google=/plugin'];
const namesIn = (text: string): readonly string[] => parse(text).contexts.map(({ name }: { name: string }) => name);
const hubProfile = (name: string, namespace = 'fleet') => ({ ...profileKind, metadata: { namespace, name } });

describe('contexts', () => {
  test('have the names, the current one and the command that were asked for', async (t) => {
    const { env, ...fleet } = await startOperatedFleet(t);
    const args = ['kubeconfig', 'spoke-0', 'spoke-1', ...fleet.flags, '--context-name', 'c-{name}.{hub}'];
    const { stdout, stderr } = await runProgram(t, [...args, '--use', 'fleet/spoke-1', '--command', 'clusterprofile'], {
      env,
    });
    assert.deepEqual([namesIn(stdout), stderr], [['c-spoke-0.hub', 'c-spoke-1.hub'], '']);
    assert.equal(parse(stdout)['current-context'], 'c-spoke-1.hub');
    const { exec } = parse(stdout).users[1].user;
    assert.deepEqual([exec.command, ...exec.args.slice(0, 2)], ['clusterprofile', 'credential', 'fleet/spoke-1']);
    // What another command wrote is known again.
    const file = join(await temporaryFolder(t), 'config');
    const merge = [...args, '--merge', file, '--command', '/opt/wrapper'];
    await runProgram(t, merge, { env });
    const again = await runProgram(t, merge, { env });
    const without = await runProgram(t, [...args, '--merge', file], { env });
    assert.deepEqual(
      [again.stderr, without.stderr],
      [`${file}: 0 contexts added, 0 updated`, `${file}: 0 contexts added, 2 updated`],
    );
  });

  test('of one name for two ClusterProfiles are an error that names both, as are other wrong names', async (t) => {
    const server = { server: 'https://h' };
    const other = profileOf('a', 'google', server);
    const items = [profileOf('a', 'google', server), { ...other, metadata: { namespace: 'other', name: 'a' } }];
    const file = await writeInput(t, 'p.json', { items });
    const run = (...args: readonly string[]) => runProgram(t, ['kubeconfig', '-f', file, ...flags, ...args]);
    const all = await Promise.all([
      run('--context-name', '{name}'),
      run('--context-name', '{name}@{hub}'),
      run('--use', 'a'),
      run('--use', 'b'),
      run('--watch', '--merge', 'x'),
      run('--prune'),
      run('a', '--prune', '--merge', 'x'),
    ]);
    assert.deepEqual(
      all.map(({ exitCode, stdout, stderr }) => [exitCode, stdout, stderr.split('\n')[0]]),
      [
        [2, '', 'error: ClusterProfiles fleet/a and other/a would both have the context a'],
        [2, '', 'error: --context-name {name}@{hub}: {hub} is not a field'],
        [2, '', 'error: --use a means more than one context: fleet/a (fleet/a), other/a (other/a)'],
        [5, '', 'error: --use b: no context is written for that ClusterProfile'],
        [2, '', 'error: --watch and -f contradict each other: a file is read once'],
        [2, '', 'error: --prune needs a file'],
        [2, '', 'error: --prune must know all ClusterProfiles of a namespace, and names and -l choose some of them'],
      ],
    );
  });
});

describe('--prune', () => {
  test('takes the contexts out whose ClusterProfile is gone, of this hub and this namespace only', async (t) => {
    const { env, hub, spoke, flags } = await startOperatedFleet(t);
    const other = { ...profileOf('b', 'google', clusterOf(spoke)), metadata: { namespace: 'other', name: 'b' } };
    hub.add(other);
    const file = join(await temporaryFolder(t), 'config');
    const merge = ['kubeconfig', '--merge', file, ...flags];
    await runProgram(t, [...merge, 'spoke-0', 'spoke-1', 'other/b', '--use', 'spoke-0'], { env });
    const written = await readFile(file, 'utf8');
    for (const index of [1, 3]) hub.delete(hubProfile(`spoke-${index}`));
    hub.delete(hubProfile('b', 'other'));
    const kept = await runProgram(t, [...merge, 'spoke-0'], { env });
    assert.deepEqual([kept.stderr, await readFile(file, 'utf8')], [`${file}: 0 contexts added, 0 updated`, written]);
    const { stderr, exitCode } = await runProgram(t, [...merge, '--prune'], { env });
    assert.deepEqual([stderr, exitCode], [`${file}: 7 contexts added, 0 updated, 1 removed`, 0]);
    const names = namesIn(await readFile(file, 'utf8'));
    assert.deepEqual([names.includes('fleet/spoke-1@hub'), names.includes('other/b@hub')], [false, true]);
    const all = await runProgram(t, [...merge, '--prune', '-A'], { env });
    assert.equal(all.stderr, `${file}: 0 contexts added, 0 updated, 1 removed`);
  });
});

describe('--watch', () => {
  test('keeps the file as the hub is, through failures of the hub and of the file, until SIGTERM', async (t) => {
    const { env, hub, spoke, flags } = await startOperatedFleet(t);
    const folder = join(await temporaryFolder(t), 'shared');
    await mkdir(folder);
    const file = join(folder, 'config');
    const args = ['kubeconfig', '--merge', file, '--prune', '--watch', '--context-name', '{name}', ...flags];
    const program = await startProgram(t, args, { env });
    const holds = (name: string, isThere: boolean) =>
      until(t, async () => namesIn(await readFile(file, 'utf8')).includes(name) === isThere);
    await program.shows(`${file}: 9 contexts added, 0 updated, 0 removed\n`);
    const before = await readFile(file, 'utf8');
    hub.add(profileOf('spoke-10', 'google', clusterOf(spoke)));
    await holds('spoke-10', true);
    // A heartbeat, and another that the watch has to pass on before the next change.
    hub.set({ ...profileOf('spoke-10', 'google', clusterOf(spoke)), spec: { clusterManager: { name: 'other' } } });
    await hub.restart();
    hub.failNext(500);
    hub.delete(hubProfile('spoke-10'));
    await holds('spoke-10', false);
    assert.equal(await readFile(file, 'utf8'), before);
    hub.set(profileOf('spoke-0', 'azure', clusterOf(spoke)));
    await program.shows('left out: ClusterProfile fleet/spoke-0:');
    await writeFile(file, 'clusters: {}\n');
    hub.set(profileOf('spoke-0', 'google', { server: 'https://new' }));
    await program.shows(`warning: ${file} clusters must be a list: correct it first; it is tried again`);
    await writeFile(file, before);
    await until(t, async () => (await readFile(file, 'utf8')).includes('server: https://new'));
    await program.shows(/0 contexts added, 1 updated, 0 removed\n$/);
    program.kill('SIGTERM');
    assert.equal(await program.ended, 143);
    // Nothing is said of what changes no context.
    const shown = program.shown().replaceAll(file, '/shared/config');
    const written = shown.split('\n').filter((line) => line.startsWith('/shared/config:'));
    const sample =
      'clusterprofile kubeconfig --merge /shared/config --prune --watch --clusterprofile-provider-file providers.yaml';
    assertDocumented(sample, written.map((line) => `${line}\n`).join(''));
  });

  test('ends at once where the first write fails', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const file = await writeInput(t, 'config', 'clusters: {}\n');
    const { stderr, exitCode } = await runProgram(t, ['kubeconfig', '--merge', file, '--watch', ...flags], { env });
    assert.match(stderr, /^error: .*config clusters must be a list/);
    assert.equal(exitCode, 3);
  });
});

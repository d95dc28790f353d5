// The program at a terminal, in a pipe that closes, and when somebody presses Ctrl-C.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { execa } from 'execa';
import { clusterOf, profileOf, startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { programEnvironment, programFile, startProgram, writeInput } from '../fixtures/program.ts';
import { ended, print, shellPlugin, temporaryFolder, waitForGo } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

const csi = '\u001b[';

describe('on a terminal', () => {
  test('check shows what is under way, and takes it away; colours are there, and not with NO_COLOR', async (t) => {
    const { env, names, flags, plugin } = await startOperatedFleet(t);
    assert.ok(names[plugin.command]);
    const [coloured, plain] = await Promise.all([
      startProgram(t, ['check', ...flags], { env, terminal: true }),
      startProgram(t, ['check', 'spoke-1', ...flags], { env: { ...env, NO_COLOR: '1' }, terminal: true }),
    ]);
    assert.equal(await coloured.ended, 11);
    const text = coloured.shown();
    assert.ok(text.includes(`${csi}32mok`), text);
    assert.match(stripVTControlCharacters(text), /0 of 10 checked: fleet\/spoke-0 \(profile\)/);
    assert.match(stripVTControlCharacters(text), /10 clusters: 6 ok, 4 failed/);
    await plain.ended;
    assert.ok(!plain.shown().includes(`${csi}3`), plain.shown());
  });
});

describe('Ctrl-C', () => {
  test('in the middle of check ends the plugins, says what was checked, and ends with 130', async (t) => {
    const { env, spoke } = await startOperatedFleet(t);
    const plugin = await shellPlugin(t, `echo $$ > "$DIR/pid"; ${waitForGo}`);
    const quick = await shellPlugin(t, print({ token: 'token-1' }));
    const profiles = await writeInput(t, 'profiles.json', {
      items: [profileOf('a', 'quick', clusterOf(spoke)), profileOf('b', 'slow', clusterOf(spoke))],
    });
    const flags = [
      `--clusterprofile-access-provider=quick=${quick.command}`,
      `--clusterprofile-access-provider=slow=${plugin.command}`,
    ];
    const program = await startProgram(t, ['check', '-f', profiles, ...flags], { env, terminal: true });
    await program.shows('fleet/b (plugin)');
    await program.shows('1 of 2 checked');
    await until(t, async () => (await readFile(join(plugin.folder, 'pid'), 'utf8').catch(() => '')).endsWith('\n'));
    program.type('\u0003');
    assert.equal(await program.ended, 130);
    assert.match(stripVTControlCharacters(program.shown()), /2 clusters: 1 ok, 1 not checked\r?\n/);
    await ended(t, Number(await readFile(join(plugin.folder, 'pid'), 'utf8')));
  });

  test('ends get while the hub does not answer, with 130 and nothing else', async (t) => {
    const { env, hub } = await startOperatedFleet(t);
    hub.failNext('hang');
    const asked = new Promise<void>((resolve) => {
      hub.onRequest = () => resolve();
    });
    const program = await startProgram(t, ['get'], { env });
    await asked;
    program.kill('SIGINT');
    assert.equal(await program.ended, 130);
    assert.equal(program.shown(), '');
  });
});

describe('get -w', () => {
  test('goes on with a line for each change of what was asked for, and not for what is there', async (t) => {
    const { env, hub, flags, spoke } = await startOperatedFleet(t);
    const watching = new Promise<void>((resolve) => {
      hub.onRequest = ({ url }) => {
        if (/[?&]watch=/.test(url)) resolve();
      };
    });
    const program = await startProgram(t, ['get', 'spoke-1', '-w', ...flags], { env });
    await program.shows(/^fleet +spoke-1 .* google\n/m);
    await watching;
    for (const name of ['spoke-2', 'spoke-1']) {
      const profile = profileOf(name, 'google', clusterOf(spoke));
      for (const condition of profile.status.conditions) condition.status = 'False';
      hub.set(profile);
    }
    await program.shows(/^fleet +spoke-1 +ocm +False .* google\n/m);
    hub.delete(profileOf('spoke-1', 'google', {}));
    await program.shows(/^fleet +spoke-1 .* deleted\n/m);
    program.kill('SIGINT');
    assert.equal(await program.ended, 130);
    assert.equal(program.shown().split('\n').length, 5, program.shown());
  });
});

test('a reader that goes away (| head -1) ends it without a word', async (t) => {
  const { spoke } = await startOperatedFleet(t);
  const home = await temporaryFolder(t);
  const plugin = await shellPlugin(t, `${waitForGo}; ${print({ token: 'token-1' })}`);
  const profiles = await writeInput(t, 'profiles.json', {
    items: [profileOf('a', 'none', clusterOf(spoke)), profileOf('b', 'slow', clusterOf(spoke))],
  });
  const flags = ['-f', profiles, `--clusterprofile-access-provider=slow=${plugin.command}`];
  const line = [process.execPath, programFile, 'check', ...flags].map((argument) => `'${argument}'`).join(' ');
  // What it still has to write, it writes when the reader has gone.
  const reader = `{ head -1; exec <&-; touch '${plugin.folder}/go'; }`;
  const { stdout, stderr } = await execa('bash', ['-c', `${line} | ${reader}; echo "\${PIPESTATUS[0]}"`], {
    env: programEnvironment(home),
    extendEnv: false,
  });
  assert.deepEqual([stdout.split('\n'), stderr], [['fleet/a', '141'], '']);
});

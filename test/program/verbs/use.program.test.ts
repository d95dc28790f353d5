import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { runProgram, writeInput } from '../../fixtures/program.ts';
import { temporaryFolder } from '../../fixtures/script.ts';

const user = (profile: string) => ({
  exec: {
    command: '/usr/bin/node',
    args: ['/opt/clusterprofile.js', 'credential', profile, '-f', '/p.yaml'],
    installHint: 'install the package clusterprofile-credentials',
  },
});
const kubeconfig = (entries: Readonly<Record<string, object>>, current?: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  ...(current === undefined ? {} : { 'current-context': current }),
  clusters: Object.keys(entries).map((name) => ({ name, cluster: { server: 'https://h' } })),
  users: Object.entries(entries).map(([name, entry]) => ({ name, user: entry })),
  contexts: Object.keys(entries).map((name) => ({ name, context: { cluster: name, user: name } })),
});
const written = kubeconfig(
  { mine: { token: 'MINE' }, one: user('fleet/spoke-1'), two: user('fleet/spoke-2'), lab: user('lab/spoke-2') },
  'mine',
);

test("use makes a ClusterProfile's context the current one, and changes nothing else", async (t) => {
  const file = await writeInput(t, 'config', written);
  const { stdout, stderr, exitCode } = await runProgram(t, ['use', 'spoke-1'], { env: { KUBECONFIG: file } });
  assert.deepEqual([stdout, stderr, exitCode], ['Switched to context "one".', '', 0]);
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { ...written, 'current-context': 'one' });
});

test('use changes the first of several files that is there, as kubectl does', async (t) => {
  const folder = await temporaryFolder(t);
  const [missing, first, second] = [join(folder, 'missing'), join(folder, 'first'), join(folder, 'second')];
  await writeFile(first, JSON.stringify(kubeconfig({})));
  await writeFile(second, JSON.stringify(written));
  const KUBECONFIG = [missing, first, second].join(delimiter);
  await runProgram(t, ['use', 'lab/spoke-2'], { env: { KUBECONFIG } });
  assert.equal(JSON.parse(await readFile(first, 'utf8'))['current-context'], 'lab');
  assert.deepEqual(JSON.parse(await readFile(second, 'utf8')), written);
});

test('use takes the name of the context too, for a ClusterProfile that has several', async (t) => {
  const file = await writeInput(t, 'config', kubeconfig({ old: user('fleet/spoke-1'), new: user('fleet/spoke-1') }));
  const { stdout } = await runProgram(t, ['use', 'new'], { env: { KUBECONFIG: file } });
  assert.equal(stdout, 'Switched to context "new".');
});

test('use says which names are meant, and what writes contexts', async (t) => {
  const file = await writeInput(t, 'config', written);
  const empty = await writeInput(t, 'empty', kubeconfig({}));
  const env = { KUBECONFIG: file };
  const [several, none, foreign, nothing] = await Promise.all([
    runProgram(t, ['use', 'spoke-2'], { env }),
    runProgram(t, ['use', 'spoke-9'], { env }),
    runProgram(t, ['use', 'mine'], { env }),
    runProgram(t, ['use', 'spoke-1', '--kubeconfig', empty]),
  ]);
  assert.match(
    several.stderr,
    /^error: spoke-2 means more than one context: two \(fleet\/spoke-2\), lab \(lab\/spoke-2\)\nhint: {2}write NAMESPACE\/NAME, or the name of the context$/,
  );
  assert.match(none.stderr, /^error: spoke-9: no context is written for that ClusterProfile$/);
  assert.equal(foreign.exitCode, 5);
  assert.match(
    nothing.stderr,
    /no context that this program wrote\nhint: {2}clusterprofile kubeconfig --merge \S+ writes some$/,
  );
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), written);
});

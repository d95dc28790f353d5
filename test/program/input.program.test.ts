// What the program reads: files, pipes and stdin, and how it ends while it waits for them.
import assert from 'node:assert/strict';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { kubeconfig } from '../fixtures/kubeconfigs.ts';
import { startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { programEnvironment, programFile, runProgram, writeInput, writeProviders } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const profile = { kind: 'ClusterProfile', metadata: { namespace: 'fleet', name: 'spoke-1' } };
const providers = { google: { command: '/plugin' } };

async function makeFifo(t: TestContext): Promise<string> {
  const path = join(await temporaryFolder(t), 'fifo');
  await execa('mkfifo', [path]);
  return path;
}

function start(t: TestContext, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = execa(process.execPath, [programFile, ...args], {
    env: { ...programEnvironment('/nowhere'), ...env },
    extendEnv: false,
    reject: false,
    stdin: 'pipe',
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** Opens a FIFO for writing, which waits until the program has begun to read. */
async function writerOf(fifo: string, child: ReturnType<typeof start>) {
  // Where it ends without reading, nothing else would let the writer in.
  const release = async () => (await open(fifo, 'r+')).close();
  void child.then(release).catch(() => {});
  return open(fifo, 'w');
}

/** Where a pipe can be named, and what comes out of it. */
const places: Readonly<
  Record<string, (fifo: string, file: string, t: TestContext) => readonly string[] | Promise<readonly string[]>>
> = {
  'get -f': (fifo) => ['get', '-f', fifo],
  'get --clusterprofile-provider-file': (fifo, file) => ['get', '-f', file, '--clusterprofile-provider-file', fifo],
  'get --kubeconfig': (fifo) => ['get', '--kubeconfig', fifo],
  // Which is read when a request needs it.
  "a file of the hub's user": async (fifo, _, t) => {
    const user = kubeconfig({ exec: null, user: { tokenFile: fifo } });
    return ['get', '--kubeconfig', await writeInput(t, 'config', user)];
  },
  'run-plugin --certificate-authority': (fifo) => ['run-plugin', '--certificate-authority', fifo, '--', 'true'],
};

describe('Ctrl-C and SIGTERM end the program while it waits for a pipe', () => {
  for (const [place, argsOf] of Object.entries(places)) {
    test(place, async (t) => {
      const file = await writeInput(t, 'profile.json', profile);
      await Promise.all(
        (['SIGINT', 'SIGTERM'] as const).map(async (signal) => {
          const fifo = await makeFifo(t);
          const child = start(t, await argsOf(fifo, file, t));
          const writer = await writerOf(fifo, child);
          child.kill(signal);
          const { signal: endedBy, stderr } = await child;
          assert.deepEqual([endedBy, stderr], [signal, '']);
          await writer.close();
        }),
      );
    });
  }

  test('that is stdin, with commands of the user to follow too', async (t) => {
    const flag = '--clusterprofile-access-provider=google=/plugin';
    for (const args of [
      ['get', '-f', '-'],
      ['lint', '-'],
      ['exec', '-f', '-', flag, '--', 'true'],
    ]) {
      const child = start(t, args);
      // More than a pipe holds: it has begun to read when all is taken.
      await new Promise<void>((resolve) => child.stdin.write('#'.repeat(1_000_000), () => resolve()));
      // SIGQUIT by itself would leave a core, with what is in memory.
      child.kill('SIGQUIT');
      const { signal, stderr } = await child;
      assert.deepEqual([signal, stderr], ['SIGTERM', ''], args.join(' '));
    }
  });
});

test('a FIFO and <(command) are read to their end, as a file is', async (t) => {
  const file = await writeInput(t, 'profile.json', profile);
  const fifo = await makeFifo(t);
  const child = start(t, ['get', '-f', fifo, '-o', 'name']);
  const writer = await writerOf(fifo, child);
  await writer.writeFile(JSON.stringify(profile));
  await writer.close();
  assert.equal((await child).stdout, 'fleet/spoke-1');
  const providerFile = await writeProviders(t, providers);
  const script = `"$0" "$1" get -f <(cat "$2") --clusterprofile-provider-file <(cat "$3") -o json`;
  const { stdout } = await execa('bash', ['-c', script, process.execPath, programFile, file, providerFile]);
  assert.equal(JSON.parse(stdout).items[0].error.code, 'NO_MATCHING_PROVIDER');
});

test('stdin that two options name is read once', async (t) => {
  const args = ['--clusterprofile-access-provider=google=/plugin'];
  const workload = { kind: 'Pod', metadata: { name: 'c' }, spec: { containers: [{ name: 'c', args }] } };
  const input = JSON.stringify({ kind: 'List', items: [profile, workload] });
  const { stdout, stderr } = await runProgram(t, ['get', '-f', '-', '--from-pod-args', '-', '-o', 'name'], { input });
  assert.deepEqual([stdout, stderr], ['fleet/spoke-1', '']);
});

test("the hub's kubeconfig may come from a pipe, however often the hub is opened", async (t) => {
  const { hub, kubeconfig: file } = await startOperatedFleet(t);
  const containers = [{ name: 'c', image: 'c', args: ['--clusterprofile-access-provider=google=/plugin'] }];
  const metadata = { namespace: 'fleet', name: 'controller' };
  hub.add([{ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } }]);
  const fifo = await makeFifo(t);
  // The workload and the profiles are two readers of the hub.
  const child = start(t, ['resolve', 'spoke-0', '--kubeconfig', fifo, '--from-pod-args', 'pod/controller']);
  const writer = await writerOf(fifo, child);
  await writer.writeFile(await readFile(file));
  await writer.close();
  const { stdout, stderr } = await child;
  assert.equal(stderr, '');
  assert.match(stdout, /^Provider: +google$/m);
});

test('what can be read once only is refused where it would be needed again, and nothing is read', async (t) => {
  const file = await writeInput(t, 'profile.json', profile);
  const providerFile = await writeProviders(t, providers);
  const fifo = await makeFifo(t);
  const flags = ['--clusterprofile-provider-file', providerFile];
  for (const [args, what] of [
    [['kubeconfig', '-f', '-', ...flags], 'stdin'],
    [['kubeconfig', '-f', file, `--clusterprofile-provider-file=${fifo}`], fifo],
    [['kubeconfig', '--kubeconfig', fifo, ...flags], fifo],
    [['exec', '-f', '-', '--from-pod-args', '-', '--', 'true'], 'stdin'],
    [['exec', '-f', file, '--from-pod-args', 'deployment/x', '--kubeconfig', fifo, '--', 'true'], fifo],
  ] as const) {
    const { stdout, stderr, exitCode } = await runProgram(t, args, { input: JSON.stringify(profile) });
    const hint = 'write what is read into a file, and name the file';
    assert.deepEqual(
      [stdout, stderr, exitCode],
      ['', `error: a kubeconfig cannot read ${what} again\nhint:  ${hint}`, 2],
    );
  }
});

test('completion reads neither stdin nor a pipe', async (t) => {
  const fifo = await makeFifo(t);
  for (const words of [
    ['get', '-f', fifo, ''],
    ['get', '-f', '-', ''],
    ['get', '--kubeconfig', fifo, '--context', ''],
  ]) {
    const child = start(t, ['__complete', ...words]);
    assert.equal((await child).stdout, ':4', words.join(' '));
  }
});

// A plugin run changes nothing about what a signal does to the process.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { ended, shellPlugin } from '../fixtures/script.ts';

const library = new URL('../../dist/index.js', import.meta.url);
const leavePid = 'echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"';

/** How a program listens for SIGTERM before its first plugin run; `stopping` settles when it got one. */
const idioms = {
  'process.once': `const stopping = new Promise((resolve) => process.once('SIGTERM', resolve));`,
  'process.on': `const stopping = new Promise((resolve) => process.on('SIGTERM', resolve));`,
  'no handler': 'const stopping = new Promise(() => {});',
};

const unshare = ['unshare', '--user', '--map-root-user', '--fork', '--pid'];
/** Not on macOS, and not where users may not make namespaces. */
const mayUnshare = spawnSync('unshare', [...unshare.slice(1), 'true']).status === 0;

/** What starts the program, and the process to which Kubernetes or a shell sends the signal. */
const places = {
  'a child': { starter: [], target: 'process.pid' },
  'a child of an init that passes signals on': {
    // As tini does.
    starter: ['sh', '-c', '"$@" & child=$!; trap "kill -TERM $child" TERM; wait $child; wait $child', 'sh'],
    target: 'process.ppid',
  },
  ...(mayUnshare ? { 'PID 1': { starter: unshare, target: 'process.pid' } } : {}),
};
const isAlone = (place: string) => place === 'PID 1';

type Plugin = Awaited<ReturnType<typeof shellPlugin>>;

/** A program that does something first, begins a plugin run, and then does something else. */
const program = ({ command, folder }: Plugin, first: string, then: string) => `
  import { existsSync } from 'node:fs';
  import { setImmediate } from 'node:timers/promises';
  import { CredentialProviders } from '${library}';
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${command}' };
  const providers = new CredentialProviders([{ name: 'a', execConfig }]);
  const status = { accessProviders: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }] };
  ${first}
  providers.getConfig({ status }).ready().catch(() => {});
  while (!existsSync('${folder}/pid')) await setImmediate();
  ${then}`;

const drain = (target: string) => `
  const keepAlive = setInterval(() => {}, 1_000);
  process.kill(${target}, 'SIGTERM');
  // The kernel ignores a signal to PID 1 that has no handler.
  if (process.pid !== 1 || process.listenerCount('SIGTERM') > 0) await stopping;
  clearInterval(keepAlive);
  await setImmediate();
  await providers.close();
  console.log('drained', process.listenerCount('SIGTERM'));`;

describe('SIGTERM', () => {
  for (const [place, { starter, target }] of Object.entries(places)) {
    for (const [idiom, listen] of Object.entries(idioms)) {
      const isHandled = idiom !== 'no handler';
      const what = isHandled ? 'reaches its handler, and it drains' : isAlone(place) ? 'is ignored' : 'ends it';
      test(`to a program as ${place} with ${idiom} ${what}, while a plugin runs`, async (t) => {
        const plugin = await shellPlugin(t, `${leavePid}; exec sleep 1000`);
        const code = program(plugin, listen, drain(target));
        const [file = '', ...args] = [...starter, process.execPath, '--input-type=module', '--eval', code];
        const { stdout, signal, exitCode, stderr } = await execa(file, args, {
          reject: false,
          cancelSignal: t.signal,
          forceKillAfterDelay: 100,
        });
        const pid = isAlone(place) ? undefined : Number(await readFile(join(plugin.folder, 'pid'), 'utf8'));
        if (isHandled || isAlone(place)) {
          const left = idiom === 'process.on' ? 1 : 0;
          assert.deepEqual([stdout, exitCode], [`drained ${left}`, 0], stderr);
          if (pid !== undefined) await ended(t, pid);
        } else {
          const expected = place === 'a child' ? ['', 'SIGTERM', undefined] : ['', undefined, 143];
          assert.deepEqual([stdout, signal, exitCode], expected, stderr);
          // Nothing of Node's runs any more then: the plugin goes on in its own session.
          if (pid !== undefined) process.kill(pid, 'SIGKILL');
        }
      });
    }
  }
});

test('plugins that run end with this process, and all that they have started, when it exits', async (t) => {
  const plugin = await shellPlugin(t, `sleep 1000 &\necho $! > "$DIR/child"\n${leavePid}\nwait`);
  const code = program(plugin, '', 'process.exit(3);');
  const { exitCode } = await execa(process.execPath, ['--input-type=module', '--eval', code], { reject: false });
  assert.equal(exitCode, 3);
  for (const name of ['pid', 'child']) await ended(t, Number(await readFile(join(plugin.folder, name), 'utf8')));
});

// What a process that gets a signal does while a plugin runs: what it would do without one.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { ended, shellPlugin } from '../fixtures/script.ts';

/** A program with a plugin that never ends; `whileItRuns` sees `count()`, `providers`, `ready` and the plugin's `pid`. */
const program = (command: string, folder: string, whileItRuns: string) => `
  import { existsSync, readFileSync } from 'node:fs';
  import { setImmediate } from 'node:timers/promises';
  import { CredentialProviders } from '${new URL('../../dist/index.js', import.meta.url)}';
  const count = () => ['SIGTERM', 'SIGINT', 'SIGHUP'].map((name) => process.listenerCount(name)).join();
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${command}' };
  const status = { accessProviders: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }] };
  const providers = new CredentialProviders([{ name: 'a', execConfig }]);
  console.log('before', count());
  const ready = providers.getConfig({ status }).ready().catch(({ code }) => code);
  while (!existsSync('${folder}/pid')) await setImmediate();
  const pid = Number(readFileSync('${folder}/pid', 'utf8'));
  const isAlive = () => { try { return process.kill(pid, 0); } catch { return false; } };
  ${whileItRuns}`;

describe('a signal while a plugin runs', () => {
  const start = `echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; exec sleep 1000`;

  test('ends a program that listens for none, by the signal', async (t) => {
    const plugin = await shellPlugin(t, start);
    const code = program(
      plugin.command,
      plugin.folder,
      "process.kill(process.pid, 'SIGTERM'); await setImmediate(); console.log('alive')",
    );
    const run = await execa(process.execPath, ['--input-type=module', '--eval', code], {
      reject: false,
      cancelSignal: t.signal,
    });
    assert.deepEqual([run.signal, run.stdout], ['SIGTERM', 'before 0,0,0']);
  });

  test("is the handler's alone where the program has one, and no handler of ours is left when the plugin has ended", async (t) => {
    const plugin = await shellPlugin(t, start);
    const code = program(
      plugin.command,
      plugin.folder,
      `const handled = new Promise((resolve) => process.once('SIGTERM', resolve));
       process.kill(process.pid, 'SIGTERM');
       console.log('handled', await handled, isAlive());
       await providers.close();
       console.log(await ready);
       while (isAlive()) await setImmediate();
       console.log('after', count());`,
    );
    const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', code], {
      cancelSignal: t.signal,
    });
    assert.deepEqual(stdout.split('\n'), ['before 0,0,0', 'handled SIGTERM true', 'PLUGIN_STOPPED', 'after 0,0,0']);
    assert.ok(Number(await readFile(join(plugin.folder, 'pid'), 'utf8')) > 0);
  });
});

describe('plugins that run', () => {
  for (const ending of ['process.exit(3)', "process.kill(process.pid, 'SIGTERM')"]) {
    test(`end with this process, when it does ${ending}`, async (t) => {
      const plugin = await shellPlugin(t, `sleep 1000 &\necho $! > "$DIR/child"\necho $$ > "$DIR/pid"\nwait`);
      const program = `
        import { existsSync } from 'node:fs';
        import { CredentialProviders } from '${new URL('../../dist/index.js', import.meta.url)}';
        const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${plugin.command}' };
        const status = { accessProviders: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }] };
        new CredentialProviders([{ name: 'a', execConfig }]).getConfig({ status }).ready().catch(() => {});
        const poll = () => (existsSync('${plugin.folder}/pid') ? ${ending} : setTimeout(poll, 5));
        poll();`;
      await execa(process.execPath, ['--input-type=module', '--eval', program], { reject: false });
      for (const name of ['pid', 'child']) await ended(t, Number(await readFile(join(plugin.folder, name), 'utf8')));
    });
  }

  test('leave signals to a program that has handlers of its own, and are no reason for handlers once they have ended', async (t) => {
    const plugin = await shellPlugin(t, `echo $$ > "$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"; exec sleep 1000`);
    const program = `
      import { existsSync } from 'node:fs';
      import { CredentialProviders } from '${new URL('../../dist/index.js', import.meta.url)}';
      const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${plugin.command}' };
      const status = { accessProviders: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }] };
      const providers = new CredentialProviders([{ name: 'a', execConfig }]);
      const ready = providers.getConfig({ status }).ready().catch(({ code }) => code);
      process.on('SIGTERM', async () => {
        await providers.close();
        console.log(await ready, process.listenerCount('SIGTERM') - 1);
      });
      const poll = () => (existsSync('${plugin.folder}/pid') ? process.kill(process.pid, 'SIGTERM') : setTimeout(poll, 5));
      poll();`;
    const { exitCode, stdout } = await execa(process.execPath, ['--input-type=module', '--eval', program], {
      reject: false,
    });
    assert.deepEqual([exitCode, stdout], [0, 'PLUGIN_STOPPED 0']);
    await ended(t, Number(await readFile(join(plugin.folder, 'pid'), 'utf8')));
  });
});

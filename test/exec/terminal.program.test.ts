import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { writeInput } from '../fixtures/program.ts';
import { ended, print, shellPlugin } from '../fixtures/script.ts';

/** The beginning of a program: providers and a run of their own for each access type. */
const makeProviders = (command: string, calls: number) => `
  import { CredentialProviders } from '${new URL('../../dist/index.js', import.meta.url)}';
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '${command}', interactiveMode: 'IfAvailable' };
  const cluster = { server: 'https://127.0.0.1:1' };
  const fleet = Array.from({ length: ${calls} }, (_, index) => {
    const name = 'type-' + index;
    const providers = new CredentialProviders([{ name, execConfig: { ...execConfig, args: [name] } }], { pluginTimeoutMs: 100 });
    const ready = providers.getConfig({ status: { accessProviders: [{ name, cluster }] } }).ready();
    return { providers, ready };
  });`;
const waitForAll = `
  const results = await Promise.allSettled(fleet.map(({ ready }) => ready));
  console.log('results', results.map(({ status }) => status).join());
  for (const { providers } of fleet) await providers.close();`;

/** A program that fetches credentials, in a terminal of its own (`script`, from util-linux, makes the pseudo-terminal). */
async function inTerminal(t: TestContext, command: string, calls: number, first = '') {
  const code = [makeProviders(command, calls), first, waitForAll].join('\n');
  const program = await writeInput(t, 'program.ts', code);
  const terminal = spawn('script', ['-qefc', `'${process.execPath}' '${program}'`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => terminal.kill('SIGKILL'));
  let shown = '';
  let look = () => {};
  terminal.stdout.on('data', (chunk) => {
    shown += String(chunk);
    look();
  });
  /** Waits until the terminal shows a text. */
  const shows = (text: string) =>
    new Promise<void>((resolve) => {
      look = () => shown.includes(text) && resolve();
      look();
    });
  const closed = new Promise<number | null>((resolve) => terminal.on('close', resolve));
  return { shows, type: (text: string) => terminal.stdin.write(text), closed, shown: () => shown };
}

describe('a plugin with a terminal', () => {
  test('prompts on it, on stderr and on /dev/tty, gets the answer, and may take longer than the timeout', async (t) => {
    const code = `printf 'code? ' >&2; read -r code; printf 'pin? ' > /dev/tty; read -r pin < /dev/tty; sleep 0.3
echo "$code-$pin" > "$DIR/answer"; printf '%s' "$KUBERNETES_EXEC_INFO" > "$DIR/info"\n${print({ token: 't' })}`;
    const plugin = await shellPlugin(t, code);
    const terminal = await inTerminal(t, plugin.command, 1);
    await terminal.shows('code? ');
    terminal.type('1234\n');
    await terminal.shows('pin? ');
    terminal.type('5678\n');
    await terminal.shows('results fulfilled');
    await terminal.closed;
    assert.equal(await readFile(join(plugin.folder, 'answer'), 'utf8'), '1234-5678\n');
    assert.equal(JSON.parse(await readFile(join(plugin.folder, 'info'), 'utf8')).spec.interactive, true);
  });

  test('is alone with it: two never prompt at once', async (t) => {
    const code = `mkdir "$DIR/busy" || exit 9; printf "%s? " "$1" >&2; read -r answer; rmdir "$DIR/busy"\n${print({ token: 't' })}`;
    const plugin = await shellPlugin(t, code);
    const terminal = await inTerminal(t, plugin.command, 2);
    await terminal.shows('type-0? ');
    assert.ok(!terminal.shown().includes('type-1? '));
    terminal.type('a\n');
    await terminal.shows('type-1? ');
    terminal.type('b\n');
    await terminal.shows('results fulfilled,fulfilled');
    await terminal.closed;
  });

  test('is not waited for by one whose providers are closed: it rejects at once, and never prompts', async (t) => {
    const plugin = await shellPlugin(t, `printf "%s? " "$1" >&2; read -r answer\n${print({ token: 't' })}`);
    const closeSecond = `fleet[1].ready.catch(({ code }) => console.log('second', code)); await fleet[1].providers.close();`;
    const terminal = await inTerminal(t, plugin.command, 2, closeSecond);
    await terminal.shows('second PLUGIN_STOPPED');
    await terminal.shows('type-0? ');
    terminal.type('a\n');
    await terminal.shows('results fulfilled,rejected');
    await terminal.closed;
    assert.equal(await plugin.runs(), 1);
  });

  test('ends with the program at Ctrl-C', async (t) => {
    const plugin = await shellPlugin(t, `echo $$ > "$DIR/pid"; printf 'code? ' >&2; read -r code`);
    const terminal = await inTerminal(t, plugin.command, 1);
    await terminal.shows('code? ');
    terminal.type('\u0003');
    await terminal.closed;
    const pid = Number(await readFile(join(plugin.folder, 'pid'), 'utf8'));
    await ended(t, pid);
  });
});

import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { startProblem } from '../../src/exec/plugin-outcome.ts';
import { writePlugin } from '../../src/testing/index.ts';
import { profileFor, startCluster, startProviders } from '../fixtures/fleet.ts';
import { print, shellPlugin } from '../fixtures/script.ts';

const dist = (module: string) => new URL(`../../dist/${module}`, import.meta.url).href;

/** Uses a config while no descriptor is free, and again when there are some. */
const starvedProgram = `
import { openSync, closeSync } from 'node:fs';
import { CredentialProviders } from '${dist('index.js')}';
const [command, server, authority, ...flags] = process.argv.slice(1);
const argv = ['--clusterprofile-access-provider', 'google=' + command, ...flags];
const providers = CredentialProviders.fromArgs(argv, { logger: { warn() {} } });
const cluster = { server, 'certificate-authority-data': authority };
const config = providers.getConfig({
  metadata: { name: 'spoke-1', namespace: 'fleet' },
  status: { accessProviders: [{ name: 'google', cluster }] },
});
const held = [];
const starve = () => { try { for (;;) held.push(openSync('/dev/null')); } catch {} };
const free = () => { for (const descriptor of held.splice(0)) closeSync(descriptor); };
const tell = async (what, work) => {
  const error = await work().then(() => undefined, (error) => error);
  const { name, code, retryable, message } = error ?? {};
  results.push({ what, name, code, retryable, message });
};
const results = [];
starve();
await tell('plugin, starved', () => config.ready());
free();
config.invalidate();
await tell('plugin', () => config.ready());
starve();
await tell('server, starved', () => config.fetch('/version'));
free();
await tell('server', () => config.fetch('/version'));
console.log(JSON.stringify(results));
await providers.close();
`;

async function runStarved(args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const command = 'ulimit -n 64; exec "$0" --input-type=module --eval "$@"';
  const { stdout } = await execa('sh', ['-c', command, process.execPath, starvedProgram, ...args]);
  return JSON.parse(stdout);
}

describe('a machine in trouble is not the fault of a plugin:', () => {
  for (const [what, flags] of [
    ['any plugin', () => []],
    [
      'one that is pinned',
      (command: string) => [
        '--clusterprofile-plugin-policy=Allowlist',
        `--clusterprofile-plugin-allowlist=${command}@sha256:${'0'.repeat(64)}`,
      ],
    ],
  ] as const) {
    test(`a process without free descriptors, ${what}`, async (t) => {
      const cluster = await startCluster(t);
      await using plugin = await writePlugin({ token: 'token-1' });
      const args = [plugin.command, cluster.url, cluster.certificateAuthorityData, ...flags(plugin.command)];
      const [starved, later, server, serverLater] = await runStarved(args);
      const { name, code, retryable } = starved ?? {};
      assert.deepEqual([name, code, retryable], ['PluginError', 'PLUGIN_NOT_STARTED', true], JSON.stringify(starved));
      assert.match(String(starved?.message), /this process has no free descriptors: .*ulimit -n.* \(EMFILE\)$/);
      assert.equal(later?.code, flags(plugin.command).length === 0 ? undefined : 'PLUGIN_NOT_ALLOWED');
      if (later?.code) return;
      assert.deepEqual([server?.name, server?.code, server?.retryable], ['ConnectionError', 'CONNECT_FAILED', true]);
      assert.match(String(server?.message), /^ClusterProfile fleet\/spoke-1, .* no free descriptors: .*\(EMFILE\)$/);
      assert.equal(serverLater?.code, undefined);
    });
  }

  test('a plugin whose file is being written', async (t) => {
    const plugin = await shellPlugin(t, print({ token: 't' }));
    const cluster = await startCluster(t);
    const config = startProviders(t, plugin).getConfig(profileFor(cluster));
    const descriptor = openSync(join(plugin.folder, 'plugin'), 'r+');
    const refusal = { code: 'PLUGIN_NOT_STARTED', retryable: true, message: /rename it into place/ };
    await assert.rejects(config.ready(), refusal);
    closeSync(descriptor);
    config.invalidate();
    await config.ready();
  });

  for (const [errno, code] of [
    ['EAGAIN', 'PLUGIN_NOT_STARTED'],
    ['E2BIG', 'PLUGIN_INPUT_TOO_LARGE'],
    ['ENOEXEC', 'PLUGIN_NOT_EXECUTABLE'],
    ['constructor', 'PLUGIN_NOT_EXECUTABLE'],
  ] as const) {
    test(`${errno} is ${code}`, () => {
      const problem = startProblem(errno);
      assert.equal(problem.code, code);
      assert.ok(problem.reason.endsWith(`(${errno})`));
    });
  }
});

// What it costs to load the package, beside Node and client-node in the same run. Of what is built: that is what users load.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execCredential } from '../fixtures/clouds.ts';
import { startHub } from '../fixtures/hub.ts';
import { kubeconfig } from '../fixtures/kubeconfigs.ts';
import { startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { writeInput } from '../fixtures/program.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { assertRatio, cheapestStarts } from './start-cost.ts';

const dist = (path: string) => new URL(`../../dist/${path}`, import.meta.url).href;
const config = { clusterName: 'spoke-1', name: 'spoke-1', key: 'config' };
const KUBERNETES_EXEC_INFO = JSON.stringify(execCredential(config));

describe('a start', () => {
  test('of a plugin written with the helpers, its answer counted in, takes less than 6 times the CPU of one of Node', async (t) => {
    const plugin = await writeInput(
      t,
      'plugin.mjs',
      `import { runCredentialPlugin } from '${dist('plugin/index.js')}';
       await runCredentialPlugin(() => ({ token: 't', expirationTimestamp: new Date(Date.now() + 600_000) }));`,
    );
    const starts = await cheapestStarts(t, { plugin: { args: [plugin], env: { KUBERNETES_EXEC_INFO } } });
    assert.equal(JSON.parse(starts.plugin.stdout).status.token, 't');
    assertRatio(t, 'a plugin', starts.plugin, starts.bare, 6);
  });

  test('of an image credential plugin takes less than 8 times the CPU of one of Node', async (t) => {
    const images = await writeInput(t, 'images.mjs', `import '${dist('image-plugin/index.js')}';`);
    const starts = await cheapestStarts(t, { images: { args: [images] } });
    assertRatio(t, '/image-plugin', starts.images, starts.bare, 8);
  });
});

test('secretreader and kubeconfig-secretreader answer in a pod for less than 8 and 10 times the CPU of a start of Node, without client-node', async (t) => {
  const text = kubeconfig({ exec: null, cluster: { server: 'https://h' }, user: { token: 't' } });
  const hub = await startHub(t, { 'fleet/secrets/spoke-1': { data: { token: 't', config: text } } });
  const pod = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: `${hub.port}`, KUBERNETES_EXEC_INFO };
  const [folder, root] = await Promise.all([temporaryFolder(t), hub.asPod()]);
  /** What is built, with the files of a pod under another root. */
  const inPod = async (name: string) => {
    const text = readFileSync(fileURLToPath(dist(`plugins/${name}.js`)), 'utf8');
    const file = join(folder, `${name}.mjs`);
    await writeFile(
      file,
      text.replaceAll('"../chunks/', `"${dist('chunks/')}`).replace('"/var/run/', `"${root}/var/run/`),
    );
    return { args: [file], env: pod };
  };
  const starts = await cheapestStarts(t, {
    secretreader: await inPod('secretreader'),
    'kubeconfig-secretreader': await inPod('kubeconfig-secretreader'),
    'secretreader with KUBECONFIG': {
      args: [fileURLToPath(dist('plugins/secretreader.js'))],
      env: { KUBECONFIG: hub.kubeconfig, KUBERNETES_EXEC_INFO },
    },
  });
  for (const [name, most, megabytes] of [
    ['secretreader', 8, 66],
    ['kubeconfig-secretreader', 10, 70],
    ['secretreader with KUBECONFIG', 16, 82],
  ] as const) {
    assert.equal(JSON.parse(starts[name].stdout).status.token, 't');
    assertRatio(t, name, starts[name], starts.bare, most);
    assert.ok(starts[name].megabytes < megabytes, `${name}: ${starts[name].megabytes} MB`);
  }
});

test('clusterprofile takes less than 10 times the CPU of a start of Node where it talks to nobody, and never loads client-node', async (t) => {
  const cluster = { server: 'https://h' };
  const status = { accessProviders: [{ name: 'google', cluster }] };
  const content = { kind: 'ClusterProfile', metadata: { name: 'spoke-1' }, status };
  const profile = await writeInput(t, 'profile.json', content);
  const program = fileURLToPath(dist('program/clusterprofile.js'));
  const resolving = ['resolve', 'spoke-1', '-f', profile, '--clusterprofile-access-provider=google=/p', '-o', 'json'];
  const starts = await cheapestStarts(t, {
    help: { args: [program, 'get', '--help'] },
    resolve: { args: [program, ...resolving] },
  });
  assert.equal(JSON.parse(starts.resolve.stdout).cluster.server, 'https://h');
  assertRatio(t, 'clusterprofile get --help', starts.help, starts.bare, 6);
  assertRatio(t, 'clusterprofile resolve', starts.resolve, starts.bare, 10);
  const chunks = fileURLToPath(dist('chunks/program-clusterprofile/'));
  for (const file of readdirSync(chunks).filter((name) => name.endsWith('.js'))) {
    assert.doesNotMatch(readFileSync(join(chunks, file), 'utf8'), /\bfrom *["'`]@kubernetes\/client-node/, file);
  }
});

test('clusterprofile credential takes less than 15 times the CPU of a start of Node with a hub and a plugin, and 3 times from its cache', async (t) => {
  const fleet = await startOperatedFleet(t);
  const plugin = await shellPlugin(t, print({ token: 'token-1', expirationTimestamp: '2999-01-01T00:00:00Z' }));
  const folder = await temporaryFolder(t);
  const flags = ['--kubeconfig', fleet.kubeconfig, `--clusterprofile-access-provider=google=${plugin.command}`];
  const credential = [fileURLToPath(dist('program/clusterprofile.js')), 'credential', 'fleet/spoke-0', ...flags];
  const programs = {
    // From its second start on with compiled code.
    credential: { args: credential, env: { XDG_CACHE_HOME: folder } },
    cached: { args: [...credential, '--cache'], env: { XDG_CACHE_HOME: folder } },
  };
  const starts = await cheapestStarts(t, programs, 14);
  for (const { stdout } of [starts.credential, starts.cached]) {
    assert.equal(JSON.parse(stdout).status.token, 'token-1');
  }
  // 5.9 on a quiet machine, and up to 10 beside busy ones.
  assertRatio(t, 'clusterprofile credential', starts.credential, starts.bare, 15);
  assert.ok(starts.credential.megabytes < 88, `${starts.credential.megabytes} MB`);
  // 1.2 to 1.4 on a quiet machine.
  assertRatio(t, 'clusterprofile credential --cache', starts.cached, starts.bare, 3);
});

test('a controller loads nothing of client-node, execa or socks for config.resource, and takes less than 20 times the CPU of a start of Node', async (t) => {
  const hub = await startHub(t, { 'fleet/secrets/spoke-1': { data: { token: 't' } } });
  const imports = await writeInput(t, 'imports.mjs', `import '${dist('fleet/index.js')}';`);
  const controller = await writeInput(
    t,
    'controller.mjs',
    `import { registerHooks } from 'node:module';
     const packages = new Set();
     registerHooks({
       load(url, context, next) {
         for (const [, name] of url.matchAll(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/g)) packages.add(name);
         if (url.endsWith('/execa.js')) packages.add('execa, which is a chunk');
         return next(url, context);
       },
     });
     await import('${dist('fleet/index.js')}');
     const { RestConfig } = await import('${dist('index.js')}');
     const config = RestConfig.fromKubeConfig({ path: '${hub.kubeconfig}' });
     const { data } = await config.resource({ apiVersion: 'v1', kind: 'Secret', namespace: 'fleet' }).get('spoke-1');
     await config.close();
     console.log(JSON.stringify({ data, packages: [...packages] }));`,
  );
  const starts = await cheapestStarts(t, { imports: { args: [imports] }, controller: { args: [controller] } });
  assert.deepEqual(JSON.parse(starts.controller.stdout), { data: { token: 'dA==' }, packages: ['undici'] });
  assertRatio(t, 'import of /fleet', starts.imports, starts.bare, 14);
  assert.ok(starts.imports.megabytes < starts.bare.megabytes + 50, `/fleet: ${starts.imports.megabytes} MB`);
  assertRatio(t, 'a controller with config.resource', starts.controller, starts.bare, 20);
  assert.ok(starts.controller.megabytes < starts.bare.megabytes + 65, `${starts.controller.megabytes} MB`);
});

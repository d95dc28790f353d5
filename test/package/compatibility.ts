// npm run test:release -- compatibility: the packed tarball with the oldest and the newest of what it may run on, and in every kind of
// project that may import it; and the tests on the newest Node. Downloads two versions of Node from the package registry.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { root } from '../fixtures/docs.ts';

/** What a program does with every entry point; `load` says how they are imported. */
const body = `
async function main() {
  const cluster = await FakeCluster.start({ tokens: { t: 'me' } });
  const plugin = await writePlugin({ token: 't' });
  const providers = CredentialProviders.fromArgs(['--clusterprofile-access-provider', 'a=' + plugin.command]);
  const { url: server, certificateAuthorityData } = cluster;
  const entry = { name: 'a', cluster: { server, 'certificate-authority-data': certificateAuthorityData } };
  const config = providers.getConfig({ metadata: { name: 'spoke' }, status: { accessProviders: [entry] } });
  const names = await Promise.all(Array.from({ length: 20 }, () => config.makeApiClient(CoreV1Api).listNamespace()));
  const { connections } = cluster.stats;
  await config.makeApiClient(CoreV1Api).listNamespace();
  const runs = await plugin.runs();
  const opened = cluster.stats.connections - connections;
  if (names[0]?.items.length !== 2 || runs !== 1 || opened !== 0) throw new Error(runs + ' runs, ' + opened + ' connections');
  if (!matchImage('*.io', 'gcr.io/a') || !ImageCredentialProviders) throw new Error('images');
  if (await loadExecCredential('{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1}').loadKubeConfig()) throw new Error('plugin');
  await providers.close(); await plugin.remove(); await cluster.close();
  console.log('works on', process.version);
}
main().catch((error) => { console.error(error); process.exit(1); });
`;
const modules = {
  '@kubernetes/client-node': 'CoreV1Api',
  'clusterprofile-credentials': 'CredentialProviders',
  'clusterprofile-credentials/image-credentials': 'ImageCredentialProviders',
  'clusterprofile-credentials/image-plugin': 'matchImage',
  'clusterprofile-credentials/plugin': 'loadExecCredential',
  'clusterprofile-credentials/testing': 'FakeCluster, writePlugin',
};
const imports = Object.entries(modules)
  .map(([from, what]) => `import { ${what} } from '${from}';`)
  .join('\n');
const requires = Object.entries(modules)
  .map(([from, what]) => `const { ${what} } = require('${from}');`)
  .join('\n');

const oldest = { node: '22.19.0', 'client-node': '2.0.0', undici: '8.11.0' };
const newest = { node: 'latest', 'client-node': '^2', undici: '^8' };

await using temporary = await mkdtempDisposable(join(tmpdir(), 'compatibility-'));
const folder = temporary.path;
const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
  cwd: root,
});
const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>); // npm's own format
const tarball = join(folder, packed?.filename ?? assert.fail('npm packed nothing'));
for (const [name, versions] of Object.entries({ oldest, newest })) {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({
      name,
      private: true,
      type: 'module',
      dependencies: {
        '@kubernetes/client-node': versions['client-node'],
        'clusterprofile-credentials': tarball,
        undici: versions.undici,
        node: versions.node,
      },
      // One undici for all.
      overrides: { undici: versions.undici },
      allowScripts: { node: true },
    }),
  );
  await writeFile(join(project, 'index.mjs'), `${imports}\n${body}`);
  await writeFile(join(project, 'index.cjs'), `${requires}\n${body}`);
  await writeFile(join(project, 'consumer.ts'), `${imports}\n${body}`);
  await execa('npm', ['install', '--no-audit', '--no-fund'], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const node = join(project, 'node_modules/.bin/node');
  for (const file of ['index.mjs', 'index.cjs']) {
    // A test plugin's output is not ours to print.
    const { stdout: said } = await execa(node, [file], { cwd: project });
    console.log(`${name}: ${file} ${said}, client-node ${versions['client-node']}, undici ${versions.undici}`);
  }
  for (const [resolution, module] of [
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ] as const) {
    const compilerOptions = {
      module,
      moduleResolution: resolution,
      target: 'es2023',
      lib: ['es2023', 'dom'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    };
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
    const checked = await execa('tsc', ['-p', project], { preferLocal: true, localDir: root, reject: false });
    const ours = checked.stdout.split('\n').filter((line) => /clusterprofile-credentials|^consumer/.test(line));
    assert.deepEqual(ours, [], `${name}, moduleResolution ${resolution}`);
    console.log(`${name}: TypeScript with moduleResolution ${resolution}`);
  }
}
// All folders: the files beside them are about the pinned Node.
const folders = globSync('test/*/**/*.test.ts', { cwd: root })
  .filter((file) => !/\.[a-z]+\.test\.ts$/.test(file))
  .map((file) => file.split('/')[1] ?? '');
for (const args of [[...new Set(folders)], ['--kind', 'program', '--kind', 'load']])
  await execa(join(folder, 'newest/node_modules/.bin/node'), ['test/run.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });

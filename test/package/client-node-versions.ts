// npm run test:release -- client-node: the packed tarball in projects that have another version of client-node, installed without a
// flag. Downloads these versions from the package registry.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { root } from '../fixtures/docs.ts';

const versions = ['0.20.0', '0.22.3', '1.3.0', '1.4.0', '2.0.0'];

const consumer = `
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { type RestConfig, toKubeConfig } from 'clusterprofile-credentials';

export const coreOf = (config: RestConfig): CoreV1Api => toKubeConfig(config, KubeConfig).makeApiClient(CoreV1Api);
`;
const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'dom'],
  strict: true,
  noEmit: true,
  // client-node 0.2x needs the types of packages that it does not install.
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};

await using temporary = await mkdtempDisposable(join(tmpdir(), 'client-node-'));
const folder = temporary.path;
const packed = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
  cwd: root,
});
const [pack] = Object.values(JSON.parse(packed.stdout) as Record<string, { filename: string }>); // npm's own format
const tarball = join(folder, pack?.filename ?? assert.fail('npm packed nothing'));
for (const version of versions) {
  const project = join(folder, version);
  await mkdir(project);
  const dependencies = { '@kubernetes/client-node': version };
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  await copyFile(join(root, 'test/package/client-node-program.mjs'), join(project, 'program.mjs'));
  await writeFile(join(project, 'consumer.ts'), consumer);
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const options = ['--no-audit', '--no-fund', '--prefer-offline'];
  await execa('npm', ['install', ...options, tarball], { cwd: project });
  const manifest = await readFile(join(project, 'node_modules/@kubernetes/client-node/package.json'), 'utf8');
  assert.equal(JSON.parse(manifest).version, version);
  // This package has a copy of its own only where the project's does not do.
  const own = join(project, 'node_modules/clusterprofile-credentials/node_modules/@kubernetes/client-node');
  assert.equal(existsSync(own), !version.startsWith('2.'));
  const { stdout } = await execa(process.execPath, ['program.mjs', root], { cwd: project, timeout: 120_000 });
  await execa('tsc', ['-p', project], { preferLocal: true, localDir: root, stdout: 'inherit' });
  console.log(`client-node ${version}: ${stdout}`);
}

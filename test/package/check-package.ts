// Packs the package, checks the tarball, installs it in an empty project and uses it there.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'package-'));
const shown = { stdout: 'inherit', stderr: 'inherit', preferLocal: true, localDir: root } as const;

const consumer = `
import { strictEqual } from 'node:assert';
import { CoreV1Api } from '@kubernetes/client-node';
import { CredentialProviders, ProfileError } from 'clusterprofile-credentials';
import { matchImage } from 'clusterprofile-credentials/image-credentials';
import { loadExecCredential } from 'clusterprofile-credentials/plugin';
import { FakeCluster, writePlugin } from 'clusterprofile-credentials/testing';

const cluster = await FakeCluster.start({ tokens: { t: 'me' } });
const plugin = await writePlugin({ token: 't' });
const providers = CredentialProviders.fromArgs(['--clusterprofile-access-provider', \`a=\${plugin.command}\`]);
const status = { accessProviders: [{ name: 'a', cluster: { server: cluster.url, 'certificate-authority-data': cluster.certificateAuthorityData } }] };
const { items } = await providers.getConfig({ status }).makeApiClient(CoreV1Api).listNamespace();
strictEqual(items.length, 2);
strictEqual(typeof loadExecCredential, 'function');
strictEqual(matchImage('*.io', 'gcr.io/a'), true);
try { providers.getConfig({}); } catch (error) { strictEqual(error instanceof ProfileError, true); }
await providers.close(); await plugin.remove(); await cluster.close();
console.log('the installed package works on Node', process.version);
`;

try {
  const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  const report: unknown = JSON.parse(stdout);
  const [packed] = Object.values(report as Record<string, { filename: string; files: { path: string }[] }>); // npm's own format
  if (!packed) throw new Error('npm packed nothing');
  const stray = packed.files.filter(
    ({ path }) => !/^(dist|src|crds)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$/.test(path),
  );
  if (stray.length > 0)
    throw new Error(`these files do not belong in the package: ${stray.map(({ path }) => path).join(', ')}`);
  const tarball = join(folder, packed.filename);
  console.log(`packed ${packed.files.length} files`);
  await execa('publint', [tarball, '--strict'], shown);
  await execa('attw', [tarball, '--profile', 'esm-only'], shown);
  const project = join(folder, 'consumer');
  await execa('mkdir', [project]);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  await writeFile(join(project, 'index.mjs'), consumer);
  await execa('npm', ['install', '--no-audit', '--no-fund', tarball], { ...shown, cwd: project });
  await execa(process.execPath, ['index.mjs'], { ...shown, cwd: project });
} finally {
  await rm(folder, { recursive: true, force: true });
}

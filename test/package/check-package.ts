// Packs the package, checks the tarball, installs it in an empty project and uses it there: `-- --node PATH` with another Node.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { localLinks } from '../fixtures/docs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { node } = parseArgs({ options: { node: { type: 'string', default: process.execPath } } }).values;
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

/** An editor goes from a declaration to its source: every declaration has a map, and every source of a map is in the package. */
async function checkDeclarationMaps(paths: ReadonlySet<string>): Promise<void> {
  const declarations = [...paths].filter((path) => /^dist\/.*\.d\.ts$/.test(path));
  assert.ok(declarations.length > 0);
  for (const path of declarations) {
    const map: { readonly sources: readonly string[] } = JSON.parse(await readFile(join(root, `${path}.map`), 'utf8'));
    assert.ok(paths.has(`${path}.map`), `${path} has no map`);
    for (const source of map.sources) {
      assert.ok(
        paths.has(normalize(join(dirname(path), source))),
        `${path}: its source ${source} is not in the package`,
      );
    }
  }
}

/** Readers have the pages beside the package: each link leads to a file, or to a folder, that is in it. */
function checkLinks(paths: ReadonlySet<string>): void {
  const folders = new Set(
    [...paths].flatMap((path) => path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))),
  );
  for (const page of [...paths].filter((path) => path.endsWith('.md'))) {
    for (const { link, path } of localLinks(page).filter((one) => one.path !== '')) {
      const target = normalize(join(dirname(page), path)).replace(/\/$/, '');
      assert.ok(paths.has(target) || folders.has(target), `${page}: what ${link} leads to is not in the package`);
    }
  }
}

try {
  const { stdout } = await execa('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  const report: unknown = JSON.parse(stdout);
  const [packed] = Object.values(report as Record<string, { filename: string; files: { path: string }[] }>); // npm's own format
  if (!packed) throw new Error('npm packed nothing');
  const paths = packed.files.map(({ path }) => path);
  const belongs =
    /^(dist|src|crds|examples)\/|^docs\/(recipes\/)?[\w-]+\.(md|svg)$|^test\/messages\/messages\.txt$|^(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$|^LICENSE$|^package\.json$/;
  const stray = paths.filter((path) => !belongs.test(path));
  assert.deepEqual(stray, [], 'these files do not belong in the package');
  for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'docs/security.md', 'docs/stability.md']) {
    assert.ok(paths.includes(path), `the package has no ${path}`);
  }
  await checkDeclarationMaps(new Set(paths));
  checkLinks(new Set(paths));
  const tarball = join(folder, packed.filename);
  console.log(`packed ${packed.files.length} files`);
  await execa('publint', [tarball, '--strict'], shown);
  await execa('attw', [tarball, '--profile', 'esm-only'], shown);
  const project = join(folder, 'consumer');
  await execa('mkdir', [project]);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  await writeFile(join(project, 'index.mjs'), consumer);
  await execa('npm', ['install', '--no-audit', '--no-fund', tarball], { ...shown, cwd: project });
  await execa(node, ['index.mjs'], { ...shown, cwd: project });
} finally {
  await rm(folder, { recursive: true, force: true });
}

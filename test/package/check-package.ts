// Follows the README in a copy of the checkout, on the machine's own Node, and checks the tarball that it packs. `-- --node PATH` uses
// the installed package on another Node.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { blocks, localLinks, prose, read, root } from '../fixtures/docs.ts';

const { node } = parseArgs({ options: { node: { type: 'string', default: process.execPath } } }).values;
await using temporary = await mkdtempDisposable(join(tmpdir(), 'package-'));
const folder = temporary.path;
const shown = { stdout: 'inherit', stderr: 'inherit', preferLocal: true, localDir: root } as const;

/** What the README's first program does not use. */
const consumer = `
import { strictEqual } from 'node:assert';
import { CredentialProviders, ProfileError } from 'clusterprofile-credentials';
import { ImageCredentialProviders } from 'clusterprofile-credentials/image-credentials';
import { matchImage } from 'clusterprofile-credentials/image-plugin';
import { loadExecCredential } from 'clusterprofile-credentials/plugin';

for (const one of [ImageCredentialProviders, loadExecCredential]) strictEqual(typeof one, 'function');
strictEqual(matchImage('*.io', 'gcr.io/a'), true);
try { CredentialProviders.fromArgs([]).getConfig({}); } catch (error) { strictEqual(error instanceof ProfileError, true); }
console.log('the installed package works on Node', process.version);
`;

/** Objects of other libraries are sent as they are. */
const models = `
import { RestConfig } from 'clusterprofile-credentials';
import { ApiObject, App, Chart } from 'cdk8s';
import { Deployment } from 'kubernetes-models/apps/v1';
import { ConfigMap } from 'kubernetes-models/v1';

const config = RestConfig.fromDefault();
const metadata = { name: 'web', namespace: 'shop' };
const maps = config.resource({ apiVersion: 'v1', kind: 'ConfigMap', fieldManager: 'shop' });
const { data } = await maps.apply(new ConfigMap({ metadata, data: { colour: 'red' } }));
const container = { name: 'web', image: 'web:1', resources: { limits: { cpu: 1, memory: '1Gi' } } };
const template = { spec: { containers: [container] } };
const deployment = new Deployment({ metadata, spec: { selector: {}, template } });
await config.resource({ apiVersion: 'apps/v1', kind: 'Deployment', fieldManager: 'shop' }).apply(deployment);
const chart = new Chart(new App(), 'shop');
new ApiObject(chart, 'web', { apiVersion: 'v1', kind: 'ConfigMap', metadata });
for (const { apiVersion, kind, ...object } of chart.toJson())
  await config.resource({ apiVersion, kind, fieldManager: 'shop' }).apply(object);
// @ts-expect-error a number is no value of a ConfigMap
await maps.apply({ metadata, data: { colour: 5 } });
export const colour: string | undefined = data?.colour;
`;

/** Watches of every kind, as a project without exactOptionalPropertyTypes has them: each `map` knows its object. */
const watches = `
import type { ControllerWatch, Fleet, FleetWatch, HubControllerWatch } from 'clusterprofile-credentials/fleet';
export function add(fleet: Fleet, ofHub: readonly (HubControllerWatch | FleetWatch)[], ofClusters: readonly ControllerWatch[]) {
  const common = { name: 'x', reconcile: async () => {} };
  const source = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
  const hub = { ...common, for: { ...source, on: 'hub' } } as const;
  fleet.controller({ ...hub, watches: [{ apiVersion: 'v1', kind: 'Pod', map: (pod) => [{ name: pod.spec?.nodeName ?? '' }] }] });
  fleet.controller({
    ...hub,
    watches: [
      { on: 'fleet', map: ({ cluster }) => [{ name: cluster }] },
      { apiVersion: 'v1', kind: 'Pod', map: (pod) => [{ name: pod.spec?.nodeName ?? '' }] },
    ],
  });
  fleet.controller({
    ...hub,
    watches: [
      { on: 'clusters', apiVersion: 'v1', kind: 'Secret', map: ({ data }, { cluster }) => [{ name: data?.x ?? cluster.name }] },
      { on: 'hub', apiVersion: 'v1', kind: 'Pod', map: (pod) => [{ name: pod.spec?.nodeName ?? '' }] },
      { on: 'fleet', map: ({ cluster }) => [{ name: cluster }] },
    ],
  });
  fleet.controller({ ...hub, watches: ofHub });
  fleet.controller({ ...common, for: source, watches: ofClusters });
  // @ts-expect-error a watch has a map
  fleet.controller({ ...hub, watches: [{ apiVersion: 'v1', kind: 'Pod' }] });
}
`;

/**
 * Compiles the first programs in what `tsc --init` makes: strict, with exactOptionalPropertyTypes. With TypeScript 5 too, and its checks of
 * our declarations: it gives up on comparisons of types that newer versions take.
 */
async function compileFirstPrograms(project: string): Promise<void> {
  const types = join(project, 'types');
  await cp(join(root, 'examples/first'), types, { recursive: true });
  await writeFile(join(types, 'models.ts'), models);
  await writeFile(join(types, 'watches.ts'), watches);
  await writeFile(join(types, 'package.json'), '{ "type": "module" }');
  const { typescript, '@types/node': node } = JSON.parse(read('package.json')).devDependencies;
  const versions = `typescript@${typescript} @types/node@${node} kubernetes-models@5.1.0 cdk8s@2.70.106 constructs@10`;
  // client-node's declarations need those of ws.
  const old = 'typescript-5@npm:typescript@5.7.3 @types/ws@8';
  await runCommands(`npm install --no-save ${versions} ${old}`, project);
  await runCommands('../node_modules/.bin/tsc --init && ../node_modules/.bin/tsc --noEmit', types);
  const flags = '--noEmit --strict --skipLibCheck false --module nodenext --target es2023 --types node';
  const names = [...(await readdir(join(root, 'examples/first'))), 'watches.ts'];
  const files = names.map((name) => `types/${name}`).join(' ');
  await runCommands(`node node_modules/typescript-5/bin/tsc ${flags} ${files}`, project);
}

/** Copies what git would put into a checkout, uncommitted changes too. No folder above the copy has a node_modules. */
async function copyCheckout(to: string): Promise<void> {
  const { stdout } = await execa('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const path of stdout.split('\n').filter((file) => existsSync(join(root, file)))) {
    await cp(join(root, path), join(to, path));
  }
}

/** An editor goes from a declaration to its source: every declaration has a map, and every source of a map is in the package. */
async function checkDeclarationMaps(checkout: string, paths: ReadonlySet<string>): Promise<void> {
  const declarations = [...paths].filter((path) => /^dist\/.*\.d\.ts$/.test(path));
  assert.ok(declarations.length > 0);
  for (const path of declarations) {
    const map: { readonly sources: readonly string[] } = JSON.parse(
      await readFile(join(checkout, `${path}.map`), 'utf8'),
    );
    assert.ok(paths.has(`${path}.map`), `${path} has no map`);
    for (const source of map.sources) {
      assert.ok(
        paths.has(normalize(join(dirname(path), source))),
        `${path}: its source ${source} is not in the package`,
      );
    }
  }
}

/** A user's audit does not see what is bundled: the SBOM has every package of which code is in dist/, and the licences are there. */
async function checkSbom(checkout: string, paths: readonly string[]): Promise<void> {
  const sbom: { readonly components: readonly { readonly name: string; readonly version: string }[] } = JSON.parse(
    await readFile(join(checkout, 'dist/sbom.cdx.json'), 'utf8'),
  );
  const bundled = new Set<string>();
  for (const path of paths.filter((file) => /^dist\/.*\.js$/.test(file))) {
    const code = await readFile(join(checkout, path), 'utf8');
    // rolldown writes where most parts come from.
    for (const [, folder = ''] of code.matchAll(/^\/\/ ((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)/gm)) {
      const { name, version } = JSON.parse(await readFile(join(checkout, folder, 'package.json'), 'utf8'));
      bundled.add(`${name} ${version}`);
    }
  }
  assert.ok(bundled.size > 10, `${bundled.size} bundled packages`);
  const listed = new Set(sbom.components.map(({ name, version }) => `${name} ${version}`));
  for (const one of bundled) assert.ok(listed.has(one), `${one} is not in the SBOM`);
  const licences = await readFile(join(checkout, 'dist/LICENSES.txt'), 'utf8');
  for (const one of bundled) assert.ok(licences.includes(`${one}\n`), one);
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

/** Runs commands of the README, with its folders beside the checkout, and without what npm has put in `PATH`. */
async function runCommands(commands: string, cwd: string): Promise<void> {
  const PATH = process.env.PATH?.split(':').filter((path) => !path.startsWith(root));
  const env = {
    PATH: PATH?.join(':'),
    npm_config_prefer_offline: 'true',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
  };
  await execa('sh', ['-e', '-c', commands], { cwd, env, stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' });
}

/** Follows the README: its commands in a copy of the checkout, the package that they install, the first program. */
async function followReadme(): Promise<Readonly<Record<'checkout' | 'tarball' | 'project', string>>> {
  const { name, version } = JSON.parse(read('package.json'));
  const checkout = join(folder, name);
  await copyCheckout(checkout);
  const [setUp = '', install = '', run = ''] = blocks('README.md', 'sh');
  // `npm test` is all of the tests, which .ci/run runs.
  await runCommands(setUp.replace(/^npm test .*$/m, ''), checkout);
  await runCommands(install, checkout);
  const project = join(folder, 'first-program');
  const [, file = ''] = /^node (\S+)$/m.exec(run) ?? [];
  assert.ok(prose('README.md').includes(`Save this as \`${file}\``), file);
  await writeFile(join(project, file), blocks('README.md', 'js')[0] ?? '');
  const { stdout } = await execa(node, [file], { cwd: project });
  assert.equal(stdout, "[ 'default', 'kube-system' ]");
  assert.ok(prose('README.md').includes(`It prints \`${stdout}\``));
  return { checkout, tarball: join(folder, `${name}-${version}.tgz`), project };
}

const { checkout, tarball, project } = await followReadme();
const { stdout } = await execa('tar', ['-tzf', tarball]);
const paths = stdout.split('\n').map((path) => path.replace(/^package\//, ''));
const belongs =
  /^(dist|src|crds|examples)\/|^docs\/(recipes\/)?[\w-]+\.(md|svg)$|^test\/messages\/messages\.txt$|^(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$|^LICENSE$|^package\.json$/;
const stray = paths.filter((path) => !belongs.test(path));
assert.deepEqual(stray, [], 'these files do not belong in the package');
for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'docs/security.md', 'docs/stability.md']) {
  assert.ok(paths.includes(path), `the package has no ${path}`);
}
for (const path of paths.filter((file) => file.endsWith('.js.map'))) {
  const { sourcesContent } = JSON.parse(await readFile(join(checkout, path), 'utf8'));
  assert.equal(sourcesContent, undefined, `${path}: the sources are in the package already`);
}
await checkSbom(checkout, paths);
await checkDeclarationMaps(checkout, new Set(paths));
checkLinks(new Set(paths));
console.log(`packed ${paths.length} files`);
await execa('publint', [tarball, '--strict'], shown);
await execa('attw', [tarball, '--profile', 'esm-only'], shown);
await writeFile(join(project, 'index.mjs'), consumer);
await execa(node, ['index.mjs'], { ...shown, cwd: project });
// The README's first program, bundled as docs/stability.md says.
await runCommands('npm install --no-save esbuild@0.28.2', project);
const [bundle = ''] = blocks('docs/stability.md', 'sh').filter((block) => block.startsWith('esbuild'));
await runCommands(`node_modules/.bin/${bundle}`, project);
assert.equal((await execa(node, ['bundle.mjs'], { cwd: project })).stdout, "[ 'default', 'kube-system' ]");
await compileFirstPrograms(project);

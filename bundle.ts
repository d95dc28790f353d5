/**
 * Bundles what is started again and again: `/plugin` and `/image-plugin`, the shipped plugins, the programs. A file for each module, and
 * for each of zod's, would take longer to load than everything else that a plugin does. tsc has built the rest, which takes its
 * dependencies from node_modules. Beside the bundles it writes what is in them, a CycloneDX SBOM and the licences, and for editors
 * the JSON Schema of the provider file.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { rolldown } from 'rolldown';
import { z } from 'zod';
import { providersSchema } from './src/access/provider-schema.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Package extends Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<'./image-plugin' | './plugin', { readonly default: string }>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The fields of npm's SBOM that are changed here. */
interface Sbom {
  readonly metadata: { readonly component: object };
  readonly components: readonly Manifest[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = import.meta.dirname;
const readManifest = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const { name, bin, exports, peerDependencies }: Package = readManifest(root);

/** What is used of undici. Its own index also has agents, caches, cookies, mocks and WebSockets, which take as long to load again. */
const undiciParts = `
  import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
  import Client from 'undici/lib/dispatcher/client.js';
  import buildConnector from 'undici/lib/core/connect.js';
  import api from 'undici/lib/api/index.js';
  import web from 'undici/lib/web/fetch/index.js';
  import formData from 'undici/lib/web/fetch/formdata.js';
  Object.assign(Dispatcher.prototype, api);
  const { fetch } = web;
  const { FormData } = formData;
  export { buildConnector, Client, Dispatcher, fetch, FormData };
`;

/** Builds `dist/plugins/secretreader.js` of `src/plugins/secretreader.ts`. Returns the folders of the packages that are in it. */
async function bundle(file: string): Promise<readonly string[]> {
  const path = file.replace(/^(?:\.\/)?dist\/(.*)\.js$/, '$1');
  const build = await rolldown({
    platform: 'node',
    input: { [path]: join(root, `src/${path}.ts`) },
    external: Object.keys(peerDependencies).map((peer) => new RegExp(`^${peer}(?:/|$)`)),
    // client-node takes longer to load than all of it: it is not loaded for something that is not used.
    treeshake: { moduleSideEffects: 'no-external' },
    plugins: [
      {
        name: 'undici-parts',
        resolveId: (id) => (id === 'undici' ? join(root, 'undici-parts.js') : null),
        load: (id) => (id === join(root, 'undici-parts.js') ? undiciParts : null),
      },
    ],
  });
  const chunks = path.split('/').slice(-2).join('-');
  const { output } = await build.write({
    dir: join(root, 'dist'),
    format: 'esm',
    chunkFileNames: `chunks/${chunks}/[name].js`,
  });
  await build.close();
  const modules = output.flatMap((part) => (part.type === 'chunk' ? Object.entries(part.modules) : []));
  // Of some modules nothing is used.
  const used = modules.filter(([, { renderedLength }]) => renderedLength > 0);
  return used.flatMap(([id]) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
}

/** The licences ask to be handed on with the code. */
function licenceOf(folder: string): string {
  const manifest: Manifest = readManifest(folder);
  const file = readdirSync(folder).find((candidate) => /^licen[cs]e/i.test(candidate));
  if (!file) throw new Error(`${manifest.name} has no licence that could be handed on: keep it out of the bundles`);
  return `${manifest.name} ${manifest.version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
}

/** npm's SBOM of the lock file, without the packages that are in no bundle. */
async function sbomOf(folders: readonly string[]): Promise<Sbom> {
  const { stdout } = await execa('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], { cwd: root });
  const all: Sbom = JSON.parse(stdout);
  const bundled = folders.map((folder): Manifest => readManifest(folder));
  const refs = new Set(bundled.map((one) => `${one.name}@${one.version}`));
  const { component } = all.metadata;
  return {
    ...all,
    // npm calls it after the folder of the checkout.
    metadata: { ...all.metadata, component: { ...component, name } },
    components: all.components.filter((one) => refs.has(`${one.name}@${one.version}`)),
    dependencies: all.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) })),
  };
}

const started = [...new Set([exports['./image-plugin'].default, exports['./plugin'].default, ...Object.values(bin)])];
const folders = [...new Set((await Promise.all(started.map(bundle))).flat())].sort();
writeFileSync(join(root, 'dist/LICENSES.txt'), folders.map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`));
writeFileSync(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(await sbomOf(folders), undefined, 2)}\n`);

const schema = {
  title: 'The provider file of clusterprofile-credentials',
  ...z.toJSONSchema(providersSchema, { io: 'input' }),
};
writeFileSync(join(root, 'dist/provider-file.schema.json'), `${JSON.stringify(schema, undefined, 2)}\n`);

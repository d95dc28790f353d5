/**
 * Builds the JavaScript of `dist/`; tsc has written the declarations. A file for each module, and for each of zod's, would take longer to
 * load than everything else that a plugin does, and half of a controller's start. What is started again and again is a bundle of its own:
 * `/plugin` and `/image-plugin`, the shipped plugins, the programs. The other entry points share chunks, and take what a user's audit
 * should see, such as undici, from node_modules. Beside the bundles it writes what is in them, a CycloneDX SBOM and the licences, and for
 * editors the JSON Schema of the provider file.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { type RolldownOutput, rolldown } from 'rolldown';
import { z } from 'zod';
import { providersSchema } from './src/access/provider-schema.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Package extends Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** The fields of npm's SBOM that are changed here. */
interface Sbom {
  readonly metadata: { readonly component: object };
  readonly components: readonly Manifest[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = import.meta.dirname;
const readManifest = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const { name, bin, dependencies, exports }: Package = readManifest(root);

/** What is used of undici. Its own index also has fetch, agents, caches, cookies, mocks and WebSockets, which take twice as long to load. */
const undiciParts = `
  import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
  import Client from 'undici/lib/dispatcher/client.js';
  import buildConnector from 'undici/lib/core/connect.js';
  export { buildConnector, Client, Dispatcher };
`;

/** What is used of prom-client. Its own index also has default metrics, a push gateway and cluster mode, which take ten times as long to load. */
const promClientParts = `
  import Counter from 'prom-client/lib/counter.js';
  import Gauge from 'prom-client/lib/gauge.js';
  import Histogram from 'prom-client/lib/histogram.js';
  export { Counter, Gauge, Histogram };
`;

/**
 * To import a module of Node's loads all that it has, and `node:http` has a WebSocket, which is a second undici, and `node:process` has stdin.
 * This is what undici, execa and commander use of them.
 */
const nodeParts: Readonly<Record<string, string>> = {
  'node:http': 'export const maxHeaderSize = 16_384; export class IncomingMessage {}',
  'node:process':
    'const { process } = globalThis; export default process; export const { execArgv, execPath, hrtime, platform } = process;',
};

/** zod would generate a function for each schema, which only pays where a schema parses again and again. */
const zodParts = (id: string) => `export * from '${id}'; import { config } from '${id}'; config({ jitless: true });`;

const partsFile = (id: string) => join(root, `${id.replace(/[:/]/g, '-')}-parts.js`);
const texts = {
  undici: undiciParts,
  'prom-client': promClientParts,
  ...nodeParts,
  zod: zodParts('zod'),
  'zod/mini': zodParts('zod/mini'),
};
const parts = new Map(Object.entries(texts).map(([id, text]) => [partsFile(id), text]));

/** Of two plugins: what only KUBECONFIG needs. In their own bundles it would share modules with what is loaded at every start. */
const apart = 'kubeconfig-hub';

/**
 * Chunks of the program, each with what its module needs and those before do not: rolldown's own would be 40 files for one verb. What
 * loads the hub's, which is most of it, is every verb that talks to a server.
 */
const chunksOfProgram = [
  { name: 'start', test: /\/program\/cache\.ts$/ },
  { name: 'frame', test: /\/program\/main\.ts$/ },
  { name: 'access', test: /\/program\/verbs\/resolve\.ts$/ },
  { name: 'hub', test: /\/program\/(?:verbs\/credential|hub)\.ts$/ },
];

/** The same code as for Node, as ES modules: they load faster in one file than CommonJS. */
const yamlModules = join(root, 'node_modules/yaml/browser/index.js');

const pathOf = (file: string) => file.replace(/^(?:\.\/)?dist\/(.*)\.js$/, '$1');

/** The folders of the packages of which code is used. */
function foldersIn(output: RolldownOutput['output']): readonly string[] {
  const modules = output.flatMap((part) => (part.type === 'chunk' ? Object.entries(part.modules) : []));
  // Of some modules nothing is used.
  const used = modules.filter(([, { renderedLength }]) => renderedLength > 0);
  return used.flatMap(([id]) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
}

/** Builds the entry points that a controller imports. Each class is there once, in a chunk that they share. */
async function bundleLibrary(files: readonly string[]): Promise<readonly string[]> {
  const build = await rolldown({
    platform: 'node',
    input: Object.fromEntries(files.map((file) => [pathOf(file), join(root, `src/${pathOf(file)}.ts`)])),
    external: Object.keys(dependencies).map((one) => new RegExp(`^${one}(?:/|$)`)),
    treeshake: { moduleSideEffects: 'no-external' },
    plugins: [
      {
        name: 'what-is-used',
        resolveId: (id, importer = '') => {
          if (id === 'yaml') return yamlModules;
          const isPart = id === 'zod' || id === 'prom-client';
          return isPart && !parts.has(importer) ? partsFile(id) : null;
        },
        load: (id) => parts.get(id) ?? null,
      },
    ],
  });
  const { output } = await build.write({
    dir: join(root, 'dist'),
    format: 'esm',
    chunkFileNames: 'chunks/library/[name].js',
    // An old Node gets its message before it loads anything else.
    codeSplitting: { groups: [{ name: 'node-version', test: /\/util\/node-version\.ts$/ }] },
    comments: { jsdoc: false },
    minifyInternalExports: false,
    // Of the sources that are in the package.
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
  return foldersIn(output);
}

/** A module of ours does nothing when it is imported, so that an index costs what is used of it. */
const ownFolder = join(root, 'src/');

/** Builds `dist/plugins/secretreader.js` of `src/plugins/secretreader.ts`. Returns the folders of the packages that are in it. */
async function bundle(file: string): Promise<readonly string[]> {
  const path = pathOf(file);
  const build = await rolldown({
    platform: 'node',
    input: { [path]: join(root, `src/${path}.ts`) },
    external: [/^@kubernetes\/client-node(?:\/|$)/],
    // client-node takes longer to load than all of it: it is not loaded for something that is not used.
    treeshake: {
      moduleSideEffects: (id, isExternal) =>
        !isExternal && !(id.startsWith(ownFolder) && !id.endsWith('/node-version.ts')),
    },
    plugins: [
      {
        name: 'what-is-used',
        resolveId: (id, importer = '') => {
          if (id === 'yaml') return yamlModules;
          if (id === `./${apart}.ts`) return { id: `./${apart}.js`, external: true };
          const isPart = id in nodeParts ? importer.includes('/node_modules/') : parts.has(partsFile(id));
          return isPart && !parts.has(importer) ? partsFile(id) : null;
        },
        load: (id) => parts.get(id) ?? null,
      },
    ],
  });
  const chunks = path.split('/').slice(-2).join('-');
  const { output } = await build.write({
    dir: join(root, 'dist'),
    format: 'esm',
    chunkFileNames: `chunks/${chunks}/[name].js`,
    codeSplitting: path === 'program/clusterprofile' ? { groups: chunksOfProgram } : true,
    // A smaller source takes less memory.
    minify: path === 'program/clusterprofile' && { mangle: { keepNames: true } },
  });
  await build.close();
  return foldersIn(output);
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

const entryPoints = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]));
const forPlugins = entryPoints.filter((file) => /\/(?:image-)?plugin\/index\.js$/.test(file));
const started = [...new Set([...forPlugins, ...Object.values(bin), `dist/plugins/${apart}.js`])];
const library = entryPoints.filter((file) => !forPlugins.includes(file));
const folders = [...new Set((await Promise.all([bundleLibrary(library), ...started.map(bundle)])).flat())].sort();
writeFileSync(join(root, 'dist/LICENSES.txt'), folders.map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`));
writeFileSync(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(await sbomOf(folders), undefined, 2)}\n`);

const schema = {
  title: 'The provider file of clusterprofile-credentials',
  description: 'A name may stand once, which JSON Schema cannot say: clusterprofile lint checks it, and the rules.',
  ...z.toJSONSchema(providersSchema, { io: 'input' }),
};
writeFileSync(join(root, 'dist/provider-file.schema.json'), `${JSON.stringify(schema, undefined, 2)}\n`);

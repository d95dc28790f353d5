/**
 * One build of the library and one of the programs; tsc adds the declarations. A file of its own for each module, and for each of
 * zod's, costs a plugin or a controller more time to load than everything else that it does at start-up.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin, type RolldownOptions } from 'rolldown';

interface Package {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const { bin, exports, dependencies, peerDependencies }: Package = JSON.parse(
  readFileSync(new URL('package.json', import.meta.url), 'utf8'),
);

/** Source files by the name of what is made of them: `dist/plugin/index.js` is made of `src/plugin/index.ts`. */
function sourcesOf(files: readonly string[]): Record<string, string> {
  const names = files.map((file) => file.replace(/^(?:\.\/)?dist\/(.*)\.js$/, '$1'));
  return Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
}

const entryPoints = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]));
const forPlugins = entryPoints.filter((file) => file.includes('/plugin/'));

/** Matches a package and what lies in it. */
const packages = (names: Readonly<Record<string, string>>) =>
  Object.keys(names).map((name) => new RegExp(`^${name}(?:/|$)`));

/** The licences of the packages that a build has taken in: they ask to be handed on with the code. */
function licences(fileName: string): Plugin {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
      const texts = [...new Set(folders)].sort().map((folder) => {
        const { name, version }: { name: string; version: string } = JSON.parse(
          readFileSync(join(folder, 'package.json'), 'utf8'),
        );
        const file = readdirSync(folder).find((candidate) => /^licen[cs]e/i.test(candidate));
        if (!file) throw new Error(`${name} has no licence that could be handed on: keep it out of the build`);
        return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
      });
      this.emitFile({ type: 'asset', fileName, source: texts.join(`\n${'-'.repeat(80)}\n\n`) });
    },
  };
}

const output = { dir: 'dist', format: 'esm', sourcemap: true, sourcemapExcludeSources: true } as const;

/** Imports run in their order: an old Node is told of before undici fails in it. */
function checkNodeFirst({ name, isEntry }: { readonly name: string; readonly isEntry: boolean }): string {
  if (!isEntry || name === 'chunks/node-version') return '';
  return `import '${'../'.repeat(name.split('/').length - 1) || './'}chunks/node-version.js';`;
}

/** What goes into a process that lives for long: one build, so that its parts share what they have in common. */
const library: RolldownOptions = {
  platform: 'node',
  input: {
    ...sourcesOf(entryPoints.filter((file) => !forPlugins.includes(file))),
    'chunks/node-version': 'src/node-version.ts',
  },
  // What package.json lists stays outside.
  external: packages({ ...dependencies, ...peerDependencies }),
  output: { ...output, chunkFileNames: 'chunks/[name].js', banner: checkNodeFirst },
  plugins: [licences('chunks/LICENSES.txt')],
};

/** What is started again and again: a build of its own for each, with everything in it, so that it loads what it needs and no more. */
const started = [...new Set([...forPlugins, ...Object.values(bin)])].map((file): RolldownOptions => {
  const folder = file.replace(/^(?:\.\/)?dist\/(?:.*\/)?([^/]+\/[^/]+)\.js$/, '$1').replace('/', '-');
  return {
    platform: 'node',
    input: sourcesOf([file]),
    external: packages(peerDependencies),
    // client-node takes longer to load than all of it: it is not loaded for something that is not used.
    treeshake: { moduleSideEffects: 'no-external' },
    output: { ...output, chunkFileNames: `chunks/${folder}/[name].js` },
    plugins: [licences(`chunks/${folder}/LICENSES.txt`)],
  };
});

export default defineConfig([library, ...started]);

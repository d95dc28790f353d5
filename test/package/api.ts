/**
 * The public API as a text: what each entry point exports, and every declaration that this leads to. `npm run api` writes it to
 * api.txt, so that a change to it is seen in review.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';
import { read, root } from '../fixtures/docs.ts';

export const apiFile = join(root, 'api.txt');

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** A name as a module knows it: declared there, or in another one. */
type Binding = { readonly node: Node } | { readonly from: string; readonly name: string };

interface Module {
  readonly text: string;
  /** Names that stand in it. */
  readonly scope: ReadonlyMap<string, Binding>;
  /** What it exports, by the name outside. */
  readonly exports: ReadonlyMap<string, Binding>;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'type') === 'string';
const childrenOf = (node: Node): readonly Node[] => Object.values(node).flat().filter(isNode);
const nameOf = (value: unknown): string => (isNode(value) ? String(value.name ?? value.value) : '');

/** Without comments: they change for other reasons. */
function withoutComments(file: string): string {
  const text = readFileSync(file, 'utf8');
  const blank = (comment: { start: number; end: number }) => ' '.repeat(comment.end - comment.start);
  return parseSync(file, text).comments.reduce(
    (rest, comment) => rest.slice(0, comment.start) + blank(comment) + rest.slice(comment.end),
    text,
  );
}

function readModule(file: string): Module {
  const text = withoutComments(file);
  const scope = new Map<string, Binding>();
  const exports = new Map<string, Binding>();
  const declared = (node: Node): readonly string[] =>
    Array.isArray(node.declarations)
      ? node.declarations.filter(isNode).map(({ id }) => nameOf(id))
      : isNode(node.id)
        ? [nameOf(node.id)]
        : [];
  for (const statement of parseSync(file, text).program.body as unknown as readonly Node[]) {
    const specifiers = Array.isArray(statement.specifiers) ? statement.specifiers.filter(isNode) : [];
    const source = isNode(statement.source) ? nameOf(statement.source) : undefined;
    const from = source?.startsWith('.') ? join(dirname(file), source.replace(/\.[jt]s$/, '.d.ts')) : source;
    if (statement.type === 'ImportDeclaration') {
      for (const { local, imported } of specifiers) {
        scope.set(nameOf(local), { from: from ?? '', name: nameOf(imported) });
      }
    } else if (statement.type === 'ExportAllDeclaration' && from !== undefined) {
      for (const name of readModule(from).exports.keys()) exports.set(name, { from, name });
    } else if (statement.type === 'ExportNamedDeclaration' && isNode(statement.declaration)) {
      for (const name of declared(statement.declaration)) {
        scope.set(name, { node: statement });
        exports.set(name, { node: statement });
      }
    } else if (statement.type === 'ExportNamedDeclaration') {
      for (const { local, exported } of specifiers) {
        const binding = from === undefined ? scope.get(nameOf(local)) : { from, name: nameOf(local) };
        if (binding) exports.set(nameOf(exported), binding);
      }
    } else {
      for (const name of declared(statement)) scope.set(name, { node: statement });
    }
  }
  return { text, scope, exports };
}

/** What the entry points of package.json export, and the declarations behind it. */
export function publicApi(): string {
  const { name: packageName, exports: entries } = JSON.parse(read('package.json'));
  const modules = new Map<string, Module>();
  const moduleOf = (file: string): Module => {
    const module = modules.get(file) ?? readModule(file);
    modules.set(file, module);
    return module;
  };
  const found = new Map<string, Set<Node>>();
  const follow = (file: string, binding: Binding): void => {
    if ('from' in binding) {
      const target = binding.from.endsWith('.d.ts') ? moduleOf(binding.from).exports.get(binding.name) : undefined;
      if (target) follow(binding.from, target);
      return;
    }
    const nodes = found.get(file) ?? new Set();
    found.set(file, nodes);
    if (nodes.has(binding.node)) return;
    nodes.add(binding.node);
    const { scope } = moduleOf(file);
    const visit = (node: Node): void => {
      const known = node.type === 'Identifier' ? scope.get(nameOf(node)) : undefined;
      if (known) follow(file, known);
      for (const child of childrenOf(node)) visit(child);
    };
    visit(binding.node);
  };
  const lists = Object.entries<{ types?: string }>(entries).flatMap(([path, { types }]) => {
    if (types === undefined) return [];
    const file = join(root, types);
    const module = moduleOf(file);
    for (const binding of module.exports.values()) follow(file, binding);
    return [
      `${join(packageName, path)}\n${[...module.exports.keys()]
        .sort()
        .map((name) => `  ${name}\n`)
        .join('')}`,
    ];
  });
  const declarations = [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, nodes]) => {
      const texts = [...nodes]
        .sort((a, b) => a.start - b.start)
        .map(({ start, end }) =>
          moduleOf(file)
            .text.slice(start, end)
            .replace(/^\s*\n/gm, ''),
        );
      return `${relative(join(root, 'dist'), file).replace(/\.d\.ts$/, '.ts')}\n\n${texts.join('\n')}\n`;
    });
  return `${[...lists, ...declarations].join('\n')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(apiFile, publicApi());

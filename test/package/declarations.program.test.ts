// The declarations are what a user's compiler and editor see; zod and the like are inside the JavaScript, and not there for them.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import * as clientNode from '@kubernetes/client-node';
import { execa } from 'execa';
import { read, root } from '../fixtures/docs.ts';

const manifest = JSON.parse(read('package.json'));
const entryPoints: readonly string[] = Object.values<{ types?: string }>(manifest.exports).flatMap(({ types }) =>
  types === undefined ? [] : [join(root, types)],
);

/** Every declaration file that can be reached from an entry point, and what it imports from elsewhere. */
function reachable(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?['"]([^'"]+)['"]/g);
    const names = [...imports].map(([, name = '']) => name);
    const { ours = [], others = [] } = Object.groupBy(names, (name) => (name.startsWith('.') ? 'ours' : 'others'));
    found.set(file, others);
    for (const name of ours) visit(join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')));
  };
  entryPoints.forEach(visit);
  return found;
}

test('the declarations import nothing that a user does not have', () => {
  const had = ['node:', ...Object.keys(manifest.dependencies)];
  for (const [file, imports] of reachable()) {
    for (const name of imports) {
      const hint = 'mark what needs it with @internal, so that it is left out';
      const isHad = had.some((known) => name.startsWith(known));
      assert.ok(isHad, `${relative(root, file)} imports ${name}: ${hint}`);
    }
  }
});

test('the declarations are sound, with skipLibCheck off', async () => {
  // The dependencies' own are not ours to mend.
  const flags = '--ignoreConfig --noEmit --strict --types node --skipLibCheck false --module nodenext --target es2023';
  const args = [...flags.split(' '), '--lib', 'es2023,esnext.disposable,dom', ...entryPoints];
  const { stdout } = await execa('tsc', args, { cwd: root, preferLocal: true, reject: false });
  const ours = stdout.split('\n').filter((line) => line.startsWith('dist/'));
  assert.deepEqual(ours, []);
});

test('Wire, as built, has the wire names of every field of every model of client-node', async (t) => {
  const own = new Set(['apiVersion', 'kind', 'metadata']);
  const lines: string[] = [];
  for (const [model, value] of Object.entries(clientNode)) {
    const attributes: unknown = Reflect.get(Object(value), 'attributeTypeMap');
    if (!Array.isArray(attributes)) continue;
    const names = attributes.map(({ baseName }) => String(baseName)).filter((name) => !own.has(name));
    const union = names.map((name) => JSON.stringify(name)).join(' | ') || 'never';
    lines.push(`same<Exclude<keyof Wire<k.${model}>, keyof KubernetesObject>, ${union}>(true);`);
  }
  assert.ok(lines.length > 500, `${lines.length} models`);
  const folder = mkdtempSync(join(root, 'node_modules/.cache/wire-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = [
    "import type * as k from '@kubernetes/client-node';",
    "import type { KubernetesObject, Wire } from '../../../dist/index.js';",
    'declare function same<One, Other>(is: [One, Other] extends [Other, One] ? true : false): void;',
    ...lines,
  ].join('\n');
  writeFileSync(join(folder, 'wire.ts'), program);
  const config = { extends: join(root, 'tsconfig.json'), include: ['wire.ts'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout, exitCode } = await execa('tsc', ['-p', folder], { preferLocal: true, localDir: root, reject: false });
  assert.equal(exitCode, 0, stdout);
});

// The declarations are what a user's compiler and editor see; zod and the like are inside the JavaScript, and not there for them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
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
    const imports = [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?['"]([^'"]+)['"]/g)].map(
      ([, name = '']) => name,
    );
    found.set(
      file,
      imports.filter((name) => !name.startsWith('.')),
    );
    for (const name of imports.filter((other) => other.startsWith('.'))) {
      visit(join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')));
    }
  };
  entryPoints.forEach(visit);
  return found;
}

test('the declarations import nothing that a user does not have', () => {
  const had = ['node:', ...Object.keys(manifest.dependencies)];
  for (const [file, imports] of reachable()) {
    for (const name of imports) {
      const hint = 'mark what needs it with @internal, so that it is left out';
      assert.ok(
        had.some((known) => name.startsWith(known)),
        `${relative(root, file)} imports ${name}: ${hint}`,
      );
    }
  }
});

test('the declarations are sound, with skipLibCheck off', async () => {
  // The dependencies' own are not ours to mend.
  const flags = '--ignoreConfig --noEmit --strict --types node --skipLibCheck false --module nodenext --target es2023';
  const args = [...flags.split(' '), '--lib', 'es2023,esnext.disposable,dom', ...entryPoints];
  const { stdout } = await execa('tsc', args, { cwd: root, preferLocal: true, reject: false });
  assert.deepEqual(
    stdout.split('\n').filter((line) => line.startsWith('dist/')),
    [],
  );
});

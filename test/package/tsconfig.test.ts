import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from '../fixtures/docs.ts';

test('each entry point is type-checked from its source, so that npm run check needs no build', () => {
  const { name, exports } = JSON.parse(read('package.json'));
  const { paths }: { paths: Readonly<Record<string, readonly string[]>> } = JSON.parse(
    read('tsconfig.json'),
  ).compilerOptions;
  for (const [entry, { types }] of Object.entries<{ types?: string }>(exports)) {
    if (types === undefined) continue; // package.json
    const source = types.replace(/^\.\/dist\//, './src/').replace(/\.d\.ts$/, '.ts');
    const [, module] = entry.split('/');
    const [found] = module === undefined ? (paths[name] ?? []) : (paths[`${name}/*`] ?? []);
    assert.equal(found?.replace('*', module ?? ''), source, entry);
  }
});

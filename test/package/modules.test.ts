import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { test } from 'node:test';
import { read, root } from '../fixtures/docs.ts';

/** The files of this package that one imports. */
const importsOf = (file: string): readonly string[] =>
  [...read(file).matchAll(/(?:from |import |import\()'(\.[^']+)'/g)].map(([, path = '']) =>
    normalize(join(file, '..', path)),
  );

test('the modules of docs/architecture.md are there, and each imports itself and those above it only', () => {
  const [, chapter = ''] = read('docs/architecture.md').split('## Modules');
  const rows = [...chapter.matchAll(/^\| (`src\/[^|]+) \|/gm)].map(([, names = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
  const files = globSync('src/**/*.ts', { cwd: root });
  for (const path of rows.flat())
    assert.ok(
      files.some((file) => file.startsWith(path)),
      path,
    );

  const moduleOf = (file: string) => {
    const paths = rows.flat().filter((path) => file.startsWith(path));
    const longest = paths.toSorted((a, b) => b.length - a.length)[0];
    return rows.findIndex((row) => longest !== undefined && row.includes(longest));
  };
  const upwards = files.flatMap((file) => {
    const module = moduleOf(file);
    const above = importsOf(file).filter((path) => moduleOf(path) > module);
    return module < 0 ? [] : above.map((path) => `${file} -> ${path}`);
  });
  assert.deepEqual(upwards, []);
});

test('the program uses the package by its entry points and by src/diagnose/index.ts, and no other file inside', () => {
  const doors =
    /^src\/(?:(?:(?:diagnose|fleet|image-credentials|image-plugin|plugin|testing)\/)?index|util\/node-version)\.ts$/;
  const inside = globSync('src/program/**/*.ts', { cwd: root }).flatMap((file) =>
    importsOf(file)
      .filter((path) => !path.startsWith('src/program/') && !doors.test(path))
      .map((path) => `${file} -> ${path}`),
  );
  assert.deepEqual(inside, []);
});

test('no file of src has more than 300 lines', () => {
  const long = globSync('src/**/*.ts', { cwd: root }).filter((file) => read(file).trimEnd().split('\n').length > 300);
  assert.deepEqual(long, []);
});

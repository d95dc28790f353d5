import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('docs/security.md', () => {
  const page = read('docs/security.md');
  const references = [...page.matchAll(/`(test\/[\w./-]+)` "([^"]+)"/g)].map(([, path = '', name = '']) => ({
    path,
    name,
  }));

  test('has a test for each attack, and each of them exists', () => {
    const attacks = page.slice(page.indexOf('## Attacks'), page.indexOf('## What a plugin is'));
    const rows = attacks.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| attack'));
    assert.ok(rows.length >= 20, `${rows.length}`);
    for (const row of rows) assert.match(row, /`test\/[\w./-]+` "/, row);
    for (const { path, name } of references) {
      // The name of a test, of its group, or of a case in a table.
      const text = read(path).replaceAll("\\'", "'");
      const isNamed = text.split(name).some((before) => /[([]\s*['"`]$/.test(before));
      assert.ok(isNamed, `${path} has no test "${name}"`);
    }
  });

  test('is where the README sends its readers', () => {
    assert.ok(read('README.md').includes('](docs/security.md)'));
  });
});

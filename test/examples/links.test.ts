import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { anchors, localLinks, pages, root } from '../fixtures/docs.ts';

describe('links', () => {
  for (const page of pages) {
    test(`of ${page} lead to files and headings that are there`, () => {
      for (const { link, path, anchor } of localLinks(page)) {
        const target = path === '' ? page : normalize(join(page, '..', path));
        assert.ok(statSync(join(root, target), { throwIfNoEntry: false }), `${link}: there is no ${target}`);
        if (anchor !== '') assert.ok(anchors(target).has(anchor), `${link}: ${target} has no such heading`);
      }
    });
  }

  test('lead from the README to every page of the docs', () => {
    const reached = new Set(['README.md']);
    for (const page of reached) {
      for (const { path } of localLinks(page)) {
        const target = normalize(join(page, '..', path));
        if (pages.includes(target)) reached.add(target);
      }
    }
    assert.deepEqual(
      pages.filter((page) => page.startsWith('docs/') && !reached.has(page)),
      [],
    );
  });
});

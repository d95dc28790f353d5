import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { pages, read, root } from '../fixtures/docs.ts';
import { kinds } from '../kinds.ts';

const workflows = globSync('.github/workflows/*.yml', { cwd: root });

test('.ci/run runs every check, demo and benchmark but those that CONTRIBUTING excepts', () => {
  const names = Object.keys(JSON.parse(read('package.json')).scripts);
  const plain = names.filter((name) => /^(test|check)/.test(name) && name !== 'test:file' && !(name in kinds));
  const run = read('.ci/run');
  const [exceptions = ''] = /^`\.ci\/run` leaves out .*/m.exec(read('CONTRIBUTING.md')) ?? [];
  assert.equal(/npm run docs/.test(run), !exceptions.includes(' the site,'));
  for (const name of plain) assert.match(run, new RegExp(`^step npm (run )?${name}( |$)`, 'm'));
  for (const [script, files] of Object.entries(kinds).filter(([name]) => name !== 'bench')) {
    for (const [index, kind] of Object.keys(files).entries()) {
      // The first kind is the default.
      const given = index === 0 ? '( -- --.*)?$' : ` -- ${kind}( |$)`;
      const isRun = new RegExp(`^step npm run ${script}${given}`, 'm').test(run);
      const isExcepted = new RegExp(`\\b${kind}\``).test(exceptions);
      assert.equal(isRun, !isExcepted, `${script} -- ${kind}`);
    }
  }
});

test('the kinds of demos, benchmarks and checks have files, and those that the docs name are kinds', () => {
  for (const file of Object.values(kinds).flatMap((files): readonly string[] => Object.values(files))) read(file);
  for (const page of [...pages, '.ci/run', ...workflows]) {
    for (const [command, script = '', kind = ''] of read(page).matchAll(/npm run ([\w:]+) -- ([a-z][\w-]*)/g)) {
      const files = Object.entries(kinds).find(([name]) => name === script)?.[1] ?? {};
      if (script !== 'test:file') assert.ok(kind in files, `${page}: ${command}`);
    }
  }
});

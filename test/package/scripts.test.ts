import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('.ci/run runs every check of package.json but those that CONTRIBUTING excepts', () => {
  const names = Object.keys(JSON.parse(read('package.json')).scripts);
  const checks = names.filter((name) => /^(test|check|demo|bench)/.test(name) && name !== 'test:file');
  const run = read('.ci/run');
  const [exceptions = ''] = /bash \.ci\/run .*/.exec(read('CONTRIBUTING.md')) ?? [];
  for (const name of checks) {
    const isRun = new RegExp(`^step npm (run )?${name}( |$)`, 'm').test(run);
    assert.equal(isRun, !new RegExp(`[ ,]${name}(?![:a-z0-9])`).test(exceptions), name);
  }
});

for (const path of ['package-lock.json', 'docs/package-lock.json']) {
  test(`${path} has what other systems need, which npm ci asks for everywhere`, () => {
    const { packages } = JSON.parse(read(path));
    const names = new Set(Object.keys(packages).map((place) => place.replace(/^.*node_modules\//, '')));
    const missing = Object.values<{ optionalDependencies?: object }>(packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => !names.has(name));
    assert.deepEqual(missing, []);
  });
}

// docs/other-programs.md: the programs in its table are those that npm run test:e2e -- --only others runs, at these versions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { helm, packages } from '../e2e/others/programs.ts';
import { read } from '../fixtures/docs.ts';

const [, chapter = ''] = read('docs/other-programs.md').split('\n## Programs that were tried\n');
const rows = [...chapter.matchAll(/^\| `(.+?)` \| (\S+) \| (.+?) \|/gm)].map(
  ([, name = '', version = '', how = '']) => ({
    name,
    version,
    how,
  }),
);
/** Which tests have the rows of each way. */
const tests: Readonly<Record<string, string>> = {
  kubeconfig: 'test/e2e/others-kubeconfig.e2e.ts',
  '`toKubeConfig`': 'test/e2e/others-config.e2e.ts',
  '`config.agent`': 'test/e2e/others-config.e2e.ts',
  '`config.credential()`': 'test/e2e/others-backstage.e2e.ts',
};

test('the table has each program that is installed, at its version', () => {
  const pinned = new Map([...packages, ['helm', helm.version.replace(/^v/, '')] as const]);
  for (const { name, version } of rows) assert.equal(pinned.get(name), version, name);
  const known = new Set(rows.map(({ name }) => name));
  const missing = [...pinned.keys()].filter((name) => !known.has(name));
  // What a backend of Backstage is put together from.
  assert.ok(
    missing.every((name) => name.startsWith('@backstage/')),
    missing.join(),
  );
});

test('each row is a test', () => {
  assert.ok(rows.length >= 12, `${rows.length}`);
  for (const { name, how } of rows) {
    const code = read(tests[how] ?? assert.fail(`${name}: ${how}`));
    assert.match(code, new RegExp(`^ {2}'?${name}'?: |^test\\('${name} `, 'm'), `${name}, ${how}`);
  }
});

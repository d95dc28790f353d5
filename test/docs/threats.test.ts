// docs/threat-model.md: each attack has a test, which fails if the attack succeeds. threats.txt has the attacks as the page words them,
// and below each the files with the beginnings of the names of their tests: of a test, of its group, or of a case in a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from '../fixtures/docs.ts';

test('each attack in docs/threat-model.md names tests that exist', () => {
  const threats = read('test/docs/threats.txt')
    .trimEnd()
    .split(/\n(?! )/);
  const [, chapter = ''] = read('docs/threat-model.md').split('## Attacks');
  const [table = ''] = chapter.split('\n## ');
  const attacks = [...table.matchAll(/^\| (.*?) \| .* \|$/gm)].map(([, attack]) => attack).slice(1);
  assert.deepEqual(
    attacks,
    threats.map((threat) => threat.split('\n')[0]),
  );
  for (const threat of threats) {
    const tests = [...threat.matchAll(/^ {2}(\S+): (.+)$/gm)];
    assert.equal(tests.length, threat.split('\n').length - 1, threat);
    assert.ok(tests.length > 0, threat);
    for (const [, file = '', name = ''] of tests) {
      const text = read(file).replaceAll("\\'", "'");
      const isNamed = text.split(name).some((before) => /[([]\s*['"`]$/.test(before));
      assert.ok(isNamed, `${file} has no test "${name}"`);
    }
  }
});

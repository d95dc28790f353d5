// docs/recipes: what is shown there is what the tests run.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { read, root } from '../fixtures/docs.ts';

const folder = join(root, 'docs/recipes');
const pages = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
const chapters = ['Provider file', 'Profile', 'RBAC', 'Deployment', 'How to check it', 'What goes wrong'];

/** A page with its files as they are now: each block of YAML follows a line that names its file. */
function withFiles(text: string): string {
  return text.replace(/^<!-- (\S+) -->\n```yaml\n.*?^```$/gms, (_block, file: string) => {
    const content = read(file).trimEnd();
    return `<!-- ${file} -->\n\`\`\`yaml\n${content}\n\`\`\``;
  });
}

describe('docs/recipes', () => {
  test('are those that are promised, and the list has each', () => {
    assert.deepEqual(pages.toSorted(), [
      'aks.md',
      'eks.md',
      'gke.md',
      'oidc.md',
      'open-cluster-management.md',
      'secrets-on-the-hub.md',
      'spiffe.md',
      'without-a-cluster-manager.md',
    ]);
    const list = read('docs/recipes/README.md');
    for (const page of pages) assert.ok(list.includes(`](${page})`), page);
  });

  for (const page of pages) {
    const path = join(folder, page);
    const text = readFileSync(path, 'utf8');

    test(`${page} shows files that tests run, as they are (UPDATE_RECIPES=1 writes them anew)`, () => {
      const now = withFiles(text);
      if (process.env.UPDATE_RECIPES) writeFileSync(path, now);
      else assert.equal(text, now);
      const blocks = text.match(/^```yaml$/gm)?.length ?? 0;
      const named = [...text.matchAll(/^<!-- (\S+) -->\n```yaml$/gm)].map(([, file = '']) => file);
      assert.equal(named.length, blocks, 'a block of YAML without the name of its file');
      for (const file of ['providers.yaml', 'deployment.yaml']) {
        assert.ok(
          named.some((name) => name.startsWith('examples/deploy/') && name.endsWith(file)),
          file,
        );
      }
      assert.ok(named.some((name) => name.startsWith('examples/producers/') || name.startsWith('examples/profiles/')));
    });

    test(`${page} has every chapter, and shows what clusterprofile check says`, () => {
      const found = [...text.matchAll(/^## (.*)$/gm)].map(([, name]) => name);
      // A vendor's own plugin is an alternative, in a chapter at the end.
      assert.deepEqual(
        found.filter((name = '') => !/^With .* instead$/.test(name)),
        chapters,
      );
      assert.match(text, /clusterprofile check /);
      assert.match(text, /^ {2}FAIL {2}\w+ +[\d.]+ ms {2}/m);
    });
  }
});

// What the help says, held against what the verbs read.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { commonOptions, specsOf, type Verb } from '../../src/program/verb.ts';
import { verbs } from '../../src/program/verbs.ts';

const folder = new URL('../../src/program/', import.meta.url);

/** The file of a verb, and all of src/program that it loads. */
function filesOf({ name }: Verb): readonly URL[] {
  const files = new Map<string, URL>();
  const visit = (file: URL) => {
    if (files.has(file.href) || !file.href.startsWith(folder.href)) return;
    files.set(file.href, file);
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g);
    for (const [, path = ''] of imports) visit(new URL(path, file));
  };
  visit(new URL(`verbs/${name}.ts`, folder));
  return [...files.values()];
}

const readBy = (file: URL) =>
  [...readFileSync(file, 'utf8').matchAll(/options\s*\.(?:has|isGiven|texts?)\('([\w-]+)'\)/g)].map(([, name]) => name);

describe('the help', () => {
  for (const verb of verbs) {
    test(`of ${verb.name} shows the options that it reads, and no other`, () => {
      const shown = specsOf(verb.options).map(({ name }) => name);
      const source = filesOf(verb)
        .map((file) => readFileSync(file, 'utf8'))
        .join('\n');
      for (const name of shown) assert.ok(source.includes(`'${name}'`), `nothing that it loads reads --${name}`);
      for (const name of readBy(new URL(`verbs/${verb.name}.ts`, folder))) {
        assert.ok(shown.includes(name ?? ''), `it reads --${name}, which its help lacks`);
      }
    });

    test(`of ${verb.name} has examples that it takes`, () => {
      const specs = specsOf({ ...verb.options, ...commonOptions });
      const flags = specs.flatMap(({ name, short }) => [`--${name}`, `-${short}`]);
      for (const args of Object.values(verb.examples)) {
        // Without what is quoted, the command after `--`, and what the shell does.
        const [own = ''] = args.replace(/'[^']*'/g, "''").split(/ (?:-- |[>&])/);
        const [name, ...words] = own.split(' ');
        assert.equal(name, verb.name);
        for (const word of words.filter((one) => one.startsWith('-'))) {
          const isTaken = word.startsWith('--clusterprofile-') ? verb.takesProviderFlags : flags.includes(word);
          assert.ok(isTaken, `${args}: ${word}`);
        }
        assert.ok(verb.takesCommand || !args.includes(' -- '), args);
      }
    });
  }
});

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { describe, test } from 'node:test';
import { profileName } from '../../src/access/resolve.ts';
import { profilesOf } from '../../src/program/profiles.ts';
import { Terminal } from '../../src/program/terminal.ts';
import { Options } from '../../src/program/verb.ts';
import { verbs } from '../../src/program/verbs.ts';
import { writeInput } from '../fixtures/program.ts';

const profile = (name: string, server = 'https://one.example') => `
kind: ClusterProfile
metadata: { namespace: fleet, name: ${name} }
status: { accessProviders: [{ name: google, cluster: { server: "${server}" } }] }
---`;

/** The names of the profiles in files of these texts. */
async function namesIn(t: TestContext, texts: readonly string[], ...args: string[]): Promise<readonly string[]> {
  const filename = await Promise.all(texts.map((text, index) => writeInput(t, `${index}.yaml`, text)));
  const [verb] = verbs;
  assert.ok(verb);
  const profiles = await profilesOf({
    program: 'clusterprofile',
    verb,
    args,
    options: new Options({ filename }),
    providerFlags: [],
    command: [],
    terminal: new Terminal(process.stdout, process.stderr),
    signal: t.signal,
  });
  return profiles.map(profileName);
}

describe('ClusterProfiles of files', () => {
  test('that are the same count once, however often they are there', async (t) => {
    const one = profile('a') + profile('b');
    assert.deepEqual(await namesIn(t, [one, one + profile('a'), profile('a')]), ['fleet/a', 'fleet/b']);
    assert.deepEqual(await namesIn(t, [one, one], 'a', 'fleet/a'), ['fleet/a']);
  });

  test('that differ and have one name are an error that names both places', async (t) => {
    const other = profile('a', 'https://two.example');
    for (const args of [[], ['a'], ['b']]) {
      await assert.rejects(namesIn(t, [profile('b') + profile('a'), other], ...args), {
        message: /^the ClusterProfile fleet\/a is in \S+0\.yaml and in \S+1\.yaml, and the two differ$/,
        exitCode: 3,
      });
    }
    await assert.rejects(namesIn(t, [profile('a') + other]), {
      message: /is twice in \S+0\.yaml, and the two differ$/,
    });
  });

  test('without a name, or in several namespaces, are each its own', async (t) => {
    const nameless = 'kind: ClusterProfile\n---\n';
    const elsewhere = profile('a').replace('namespace: fleet', 'namespace: lab');
    const names = await namesIn(t, [nameless + nameless + profile('a') + elsewhere]);
    assert.deepEqual(names.toSorted(), ['(without a name)', '(without a name)', 'fleet/a', 'lab/a']);
  });
});

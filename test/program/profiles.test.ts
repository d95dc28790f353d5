import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { describe, test } from 'node:test';
import { profileName } from '../../src/access/resolve.ts';
import { type Profile, profilesOf } from '../../src/program/profiles.ts';
import { Terminal } from '../../src/program/terminal.ts';
import { Options } from '../../src/program/verb.ts';
import { verbs } from '../../src/program/verbs.ts';
import { writeInput } from '../fixtures/program.ts';

const profile = (name: string, server = 'https://one.example') => `
kind: ClusterProfile
metadata: { namespace: fleet, name: ${name} }
status: { accessProviders: [{ name: google, cluster: { server: "${server}" } }] }
---`;

/** The profiles in files of these texts. */
async function profilesIn(t: TestContext, texts: readonly string[], ...args: string[]): Promise<readonly Profile[]> {
  const filename = await Promise.all(texts.map((text, index) => writeInput(t, `${index}.yaml`, text)));
  const [verb] = verbs;
  assert.ok(verb);
  return profilesOf({
    program: 'clusterprofile',
    verb,
    args,
    options: new Options({ filename }),
    providerFlags: [],
    command: [],
    terminal: new Terminal(process.stdout, process.stderr),
    signal: t.signal,
  });
}

describe('ClusterProfiles of files', () => {
  test('of one name count once: the last one does', async (t) => {
    const elsewhere = profile('a').replace('namespace: fleet', 'namespace: lab');
    const texts = [profile('a') + profile('b'), profile('a', 'https://two.example') + elsewhere];
    const found = await profilesIn(t, texts);
    assert.deepEqual(found.map(profileName), ['fleet/a', 'fleet/b', 'lab/a']);
    assert.match(JSON.stringify(found[0]), /two\.example/);
    assert.deepEqual((await profilesIn(t, texts, 'a', 'fleet/a')).map(profileName), ['fleet/a', 'lab/a']);
  });
});

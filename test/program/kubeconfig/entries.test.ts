import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProfileError } from '../../../src/errors/index.ts';
import { profileOfUser, sourceOf, toEntry, tryToEnter } from '../../../src/program/kubeconfig/entries.ts';
import type { Profile } from '../../../src/program/profiles.ts';
import { accessTo, command } from '../../fixtures/kubeconfig-entry.ts';

describe('the name of a ClusterProfile in the command of a kubeconfig', () => {
  test('is its argument', () => {
    for (const name of ['fleet/spoke-1', 'fleet/spoke.1', 'spoke', '1/2', 'Fleet/spoke_1', 'fleet/-x', 'spöke']) {
      assert.equal(profileOfUser(toEntry(name, name, accessTo('https://spoke.example'), command).user), name);
    }
  });

  test('is an error where it could be something else', () => {
    for (const name of ['--show', '-f', '-n/x', 'fleet/', '/x', 'a/b/c', 'a b', 'a\nb', 'spoke\n', '']) {
      const entry = tryToEnter({ metadata: { name } } as Profile, [], 'x', command);
      assert.ok(entry instanceof ProfileError && entry.code === 'PROFILE_INVALID', name);
    }
  });
});

test('a user of a kubeconfig that has anything for a command, arguments and variables is none of ours, and no crash', () => {
  for (const odd of [5, null, [], { toString: 1 }, [{ toString: 1 }], Object.create(null)]) {
    const exec = {
      command: odd,
      installHint: odd,
      args: [odd, 'credential', 'fleet/a', '--context', odd],
      env: [{ name: 'KUBECONFIG', value: odd }],
    };
    assert.equal(profileOfUser({ exec }), undefined);
    assert.deepEqual(sourceOf({ exec }), ['--context ', 'KUBECONFIG=']);
    assert.equal(profileOfUser({ exec: odd }), undefined);
    assert.deepEqual(sourceOf(odd), []);
  }
});

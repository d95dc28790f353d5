import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ResolvedAccess } from '../../../src/access/resolve.ts';
import { isEntryOf, sourceOf, toEntry } from '../../../src/program/kubeconfig/entries.ts';

const access: ResolvedAccess = {
  provider: 'google',
  cluster: { server: 'https://spoke.example', insecureSkipTlsVerify: false, disableCompression: false },
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/plugin',
    args: [],
    env: [],
    provideClusterInfo: false,
    interactiveMode: 'Never',
  },
  ignored: [],
};
const command = { command: 'clusterprofile', before: [], after: ['--context', 'hub'], env: [] };

describe('the name of a ClusterProfile in the command of a kubeconfig', () => {
  for (const name of ['fleet/spoke-1', 'fleet/spoke.1', 'spoke', '1/2', 'Fleet/spoke_1', 'fleet/-x', 'spöke']) {
    test(`is its argument: ${name}`, () => {
      const { user } = toEntry(name, name, access, command);
      assert.ok(isEntryOf(name, user));
    });
  }

  for (const name of [
    '--clusterprofile-access-provider=a=/bin/sh',
    '--show',
    '-f',
    '-n/x',
    'fleet/',
    '/x',
    'a/b/c',
    'a b',
    'a\nb',
    'spoke\n',
    '(without a name)',
    '',
  ]) {
    test(`is an error where it could be something else: ${JSON.stringify(name)}`, () => {
      assert.throws(() => toEntry('x', name, access, command), { name: 'ProfileError', code: 'PROFILE_INVALID' });
    });
  }
});

test('a user of a kubeconfig that has anything for a command, arguments and variables is none of ours, and no crash', () => {
  for (const odd of [5, null, [], { toString: 1 }, [{ toString: 1 }], Object.create(null)]) {
    const exec = {
      command: odd,
      args: [odd, 'credential', 'fleet/a', '--context', odd],
      env: [{ name: 'KUBECONFIG', value: odd }],
    };
    assert.equal(isEntryOf('fleet/a', { exec }), false);
    assert.deepEqual(sourceOf({ exec }), ['--context ', 'KUBECONFIG=']);
    assert.equal(isEntryOf('fleet/a', { exec: odd }), false);
    assert.deepEqual(sourceOf(odd), []);
  }
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deployment, linesFor } from '../../fixtures/linted.ts';

describe('a controller in a manifest', () => {
  test('has its flags checked where they stand', () => {
    const args = [
      '--port=1',
      '--clusterprofile-plugin-polcy=DenyAll',
      '--clusterprofile-plugin-timeout',
      'soon',
      '--clusterprofile-access-provider=a=',
    ];
    assert.deepEqual(linesFor(deployment(args)), [
      '0.yaml:11:11: error: container controller: --clusterprofile-plugin-polcy: is not a flag (did you mean --clusterprofile-plugin-policy?) (FLAG_INVALID)',
      '0.yaml:12:11: error: container controller: --clusterprofile-plugin-timeout "soon": must be a duration as Go writes it, such as 30s or 1m30s, from 1ms to 596h (FLAG_INVALID)',
      '0.yaml:14:11: error: container controller: --clusterprofile-access-provider "a=...": has no command after "a=": name the plugin\'s executable (FLAG_INVALID)',
    ]);
  });

  test('is advised to be hardened, and told what a hardened one lacks', () => {
    const flag = '--clusterprofile-access-provider=google=/plugins/google';
    assert.match(
      linesFor(deployment([flag])).join('\n'),
      /note: container controller: the controller runs without --clusterprofile-hardened/,
    );
    const hardened = linesFor(deployment([flag, '--clusterprofile-hardened'])).join('\n');
    assert.match(hardened, /error: container controller: pluginPolicy: is AllowAll, and hardened requires Allowlist/);
    assert.match(hardened, /0\.yaml:10:11: error: provider google: has no allowedServers, which hardened requires/);
  });

  test('without a flag of ours is passed over, as other kinds are', () => {
    assert.deepEqual(linesFor(deployment(['--port=1']), 'kind: Secret\n'), []);
  });
});

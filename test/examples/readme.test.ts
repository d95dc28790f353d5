import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { CredentialProviders } from '../../src/index.ts';
import { blocks, prose } from '../fixtures/docs.ts';

describe('the README', () => {
  test('is short: a thousand words, without its code', () => {
    const words = prose('README.md').split(/\s+/).length;
    assert.ok(words < 1_000, `${words}`);
  });

  test('shows a ClusterProfile that a provider serves', () => {
    const providers = CredentialProviders.fromArgs(['--clusterprofile-access-provider', 'google=/usr/bin/plugin']);
    const { provider, cluster } = providers.resolve(parse(blocks('README.md', 'yaml')[0] ?? ''));
    assert.deepEqual([provider, cluster.server], ['google', 'https://spoke-1.example.dev']);
  });
});

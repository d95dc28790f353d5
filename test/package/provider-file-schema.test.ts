import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { providerFieldPaths } from '../../src/access/provider-schema.ts';

test('the JSON Schema of the provider file has every field of a provider, and no other', () => {
  const schema = createRequire(import.meta.url)('clusterprofile-credentials/provider-file.schema.json');
  const provider = schema.properties.providers.items;
  const { execConfig, ...fields } = provider.properties;
  assert.deepEqual(
    [...Object.keys(fields), ...Object.keys(execConfig.properties).map((field) => `execConfig.${field}`)].sort(),
    [...providerFieldPaths].sort(),
  );
  assert.deepEqual([provider.additionalProperties, execConfig.additionalProperties], [false, false]);
  assert.deepEqual(execConfig.required, ['apiVersion', 'command']);
});

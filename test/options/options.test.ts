import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError } from '../../src/errors/index.ts';
import { type CredentialProvidersOptions, parseOptions } from '../../src/options/options.ts';
import { thrownBy } from '../fixtures/thrown.ts';

test('an option that is not known is named by its path in an object or a list', () => {
  const pluginPolicy = { policyType: 'Allowlist', allowlist: [{ command: '/p', sha265: 'x' }], allowList: [] };
  const { problems } = thrownBy(ConfigurationError, () => Reflect.apply(parseOptions, undefined, [{ pluginPolicy }]));
  assert.deepEqual(
    problems.map(({ path, message }) => `${path}: ${message}`),
    ['pluginPolicy.allowlist[0].sha265: is not an option', 'pluginPolicy.allowList: is not an option'],
  );
});

test('an option that is undefined has its default', () => {
  const names = { pluginTimeoutMs: undefined, connectTimeoutMs: undefined, requestTimeoutMs: undefined };
  const bounds = { maxResponseBytes: undefined, idleTimeoutMs: undefined, maxConcurrentPlugins: undefined };
  const flags = { refreshOnForbidden: undefined, cleanEnvironment: undefined, strictPluginFiles: undefined };
  const more = {
    hardened: undefined,
    watchProviderFile: undefined,
    pluginPolicy: undefined,
    drainTimeoutMs: undefined,
  };
  const parts = { metrics: undefined, logger: undefined, clock: undefined };
  // The type names each option, and takes undefined for it under exactOptionalPropertyTypes.
  const options: Record<keyof CredentialProvidersOptions, undefined> & CredentialProvidersOptions = {
    ...names,
    ...bounds,
    ...flags,
    ...more,
    ...parts,
  };
  const { logger, ...given } = parseOptions(options);
  const { logger: _logger, ...defaults } = parseOptions({});
  assert.deepEqual(given, { ...defaults, metrics: undefined, requestTimeoutMs: undefined });
  assert.ok(logger);
});

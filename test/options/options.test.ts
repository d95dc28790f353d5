import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigurationError } from '../../src/errors/index.ts';
import { type CredentialProvidersOptions, parseOptions } from '../../src/options/options.ts';

/** What is wrong with these options. */
function problemsOf(options: object): readonly string[] {
  try {
    parseOptions(options);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

describe('an option that is not known', () => {
  test('is named, with the nearest one beside it', () => {
    assert.deepEqual(problemsOf({ pluginTimoutMs: 5 }), [
      'pluginTimoutMs: is not an option (did you mean pluginTimeoutMs?)',
    ]);
  });

  test('is named by its path in an object or a list', () => {
    const pluginPolicy = { policyType: 'Allowlist', allowlist: [{ command: '/p', sha265: 'x' }], allowList: [] };
    assert.deepEqual(problemsOf({ pluginPolicy }), [
      'pluginPolicy.allowlist[0].sha265: is not an option',
      'pluginPolicy.allowList: is not an option',
    ]);
  });
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

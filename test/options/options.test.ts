import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigurationError } from '../../src/errors/index.ts';
import { parseOptions } from '../../src/options/options.ts';

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
    assert.deepEqual(problemsOf({ timoutMs: 5 }), ['timoutMs: is not an option (did you mean timeoutMs?)']);
  });

  test('is named by its path in an object or a list', () => {
    const pluginPolicy = { policyType: 'Allowlist', allowlist: [{ command: '/p', sha265: 'x' }], allowList: [] };
    assert.deepEqual(problemsOf({ pluginPolicy }), [
      'pluginPolicy.allowlist[0].sha265: is not an option',
      'pluginPolicy.allowList: is not an option',
    ]);
  });
});

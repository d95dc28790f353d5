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

const policy = (more: object) => ({ pluginPolicy: { policyType: 'Allowlist', ...more } });

describe('an option that is not known', () => {
  for (const [what, options, expected] of [
    ['at the top', { timoutMs: 5 }, 'timoutMs: is not an option (did you mean timeoutMs?)'],
    [
      'in a policy',
      policy({ allowList: [], allowlist: [{ command: '/p' }] }),
      'pluginPolicy.allowList: is not an option (did you mean allowlist?)',
    ],
    [
      'in an entry of a list',
      policy({ allowlist: [{ command: '/p' }, { command: '/q', sha265: 'x' }] }),
      'pluginPolicy.allowlist[1].sha265: is not an option (did you mean sha256?)',
    ],
    [
      'and is like none of those that are',
      policy({ allowlist: [{ command: '/p', digest: 'x' }] }),
      'pluginPolicy.allowlist[0].digest: is not an option; known are command, sha256',
    ],
  ] as const) {
    test(`${what} is named by its path, with the nearest one beside it`, () => {
      assert.deepEqual(problemsOf(options), [expected]);
    });
  }
});

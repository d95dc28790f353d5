import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSettings } from '../../../src/plugins/oidc/settings.ts';

describe('the arguments of oidc-credentials', () => {
  const issuer = ['--issuer', 'https://h', '--client-id', 'c'];
  for (const [args, message] of [
    [[], /give one of --issuer, --token-endpoint, --azure, --azure-managed-identity and --token-file/],
    [[...issuer, '--token-endpoint', 'https://h/token'], /one of --issuer, --token-endpoint/],
    [['--issuer', 'http://h', '--client-id', 'c'], /--issuer must be an https:\/\/ URL/],
    [['--issuer', 'https://u:p@h', '--client-id', 'c'], /without user and password/],
    [
      ['--issuer', 'https://h/tenant/.well-known/openid-configuration', '--client-id', 'c'],
      /--issuer must be the issuer's own name: leave out what begins with \/\.well-known\//,
    ],
    [issuer, /nothing says who this client is: add one of --client-secret-file/],
    [[...issuer, '--client-secret-file', 's', '--client-key-file', 'k'], /are two proofs: keep one/],
    [[...issuer, '--client-secret-file', 's', '--client-key-id', 'k'], /need --client-key-file/],
    [[...issuer, '--client-key-file', 'k', '--client-key-algorithm', 'none'], /must be one of RS256/],
    [[...issuer, '--client-secret-file', 's', '--subject-token-type', 't'], /needs --subject-token-file/],
    [[...issuer, '--client-secret-file', ''], /--client-secret-file is empty/],
    [[...issuer, '--client-secret-file', 's', '--timeout-seconds', 'x'], /--timeout-seconds must be a number/],
    // What a profile adds comes last.
    [[...issuer, '--client-secret-file', 's', '--issuer', 'https://evil'], /--issuer is given 2 times: give it once/],
    [[...issuer, '--client-secret-file', 's', '--token-file', '/etc/passwd'], /cannot be combined with --issuer/],
    [
      ['--token-endpoint', 'https://h', '--client-id', 'c', '--client-secret-file', 's', '--id-token'],
      /needs --issuer/,
    ],
    [['--azure', '--token-file', '/t'], /^Error: --azure cannot be combined with --token-file$/],
    [['--azure', '--azure-managed-identity', 'c'], /^Error: --azure-managed-identity cannot be combined with --azure$/],
    [['--azure-managed-identity', '--azure-managed-identity=c'], /is given 2 times: give it once/],
  ] as const) {
    test(`${args.join(' ') || 'none'} are refused in words that say what to write`, () => {
      assert.throws(() => readSettings(args), message);
    });
  }
});

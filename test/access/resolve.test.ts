import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccessProvider, ClusterProfile } from '../../src/access/cluster-profile.ts';
import { configureProviders } from '../../src/access/provider-schema.ts';
import { resolve } from '../../src/access/resolve.ts';
import { ProfileError } from '../../src/errors/index.ts';
import { anyUrl } from '../fixtures/any-text.ts';
import { caData } from '../fixtures/ca.ts';
import { fc } from '../fixtures/property.ts';
import {
  argsExtension,
  envsExtension,
  execExtension,
  outcome,
  profileOf,
  provider,
  refusal,
  server,
} from '../fixtures/resolving.ts';

describe('which provider serves a profile', () => {
  const providers = configureProviders([provider({ name: 'aws' }), provider({ name: 'google' })]);
  const entry = (name: string, host = name): AccessProvider => ({ name, cluster: { server: `https://${host}` } });

  test("is the first in the operator's order that the profile lists", () => {
    const access = resolve(profileOf({ accessProviders: [entry('google'), entry('aws')] }), providers);
    assert.equal(access.provider, 'aws');
    assert.equal(access.cluster.server, 'https://aws');
  });

  test('may be listed in the deprecated credentialProviders', () => {
    assert.equal(resolve(profileOf({ credentialProviders: [entry('google')] }), providers).provider, 'google');
  });

  test('is described by accessProviders where both lists name it', () => {
    const status = { credentialProviders: [entry('aws', 'old')], accessProviders: [entry('aws', 'new')] };
    assert.equal(resolve(profileOf(status), providers).cluster.server, 'https://new');
  });

  test('without a match is an error, also where nothing is offered and none is configured', () => {
    const error = refusal(() => resolve(profileOf({}), []));
    assert.equal(error.code, 'NO_MATCHING_PROVIDER');
    assert.match(error.message, /offers nothing \(configured: none\)/);
  });

  test('is told from lists only', () => {
    for (const accessProviders of [{}, 'aws', [null], ['aws'], [{}], [{ name: 1 }], new Array(1)]) {
      // @ts-expect-error not a list of access providers
      assert.equal(refusal(() => resolve(profileOf({ accessProviders }), providers)).code, 'PROFILE_INVALID');
    }
  });
});

describe('resolve, whatever it is given', () => {
  const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', 'A', 'B'), fc.string());
  const json = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, 1.5, -7, 2 ** 60),
      fc.string(),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
    ),
  })).value;
  const extension = fc.record({
    name: fc.constantFrom(execExtension, argsExtension, envsExtension, 'other'),
    extension: json,
  });
  const cluster = fc.record(
    {
      server: fc.oneof(fc.constantFrom(server, 'https://h/p', 'http://127.0.0.1'), anyUrl, json),
      extensions: fc.oneof(
        { weight: 9, arbitrary: fc.uniqueArray(extension, { selector: ({ name }) => name }) },
        { weight: 1, arbitrary: json },
      ),
      'certificate-authority-data': fc.constantFrom(undefined, caData, 'x'),
      'insecure-skip-tls-verify': fc.constantFrom(undefined, false, true),
      'proxy-url': fc.constantFrom(undefined, '', 'http://p', 'x'),
    },
    { requiredKeys: ['server'] },
  );
  const entry = fc.record({
    name: fc.constantFrom('google', 'aws', 'other'),
    cluster: fc.oneof({ weight: 9, arbitrary: cluster }, { weight: 1, arbitrary: json }),
  });
  const profile = fc.record({
    metadata: fc.oneof(fc.constant({ name: 'a', namespace: 'b' }), json),
    status: fc.oneof(
      { weight: 9, arbitrary: fc.record({ accessProviders: fc.array(entry, { maxLength: 3 }) }) },
      { weight: 1, arbitrary: json },
    ),
  }) as fc.Arbitrary<ClusterProfile>; // most of them are not, which is the point
  const providers = fc.record({
    profileSourcedCLIArgsPolicy: fc.constantFrom('Append', 'Ignore'),
    profileSourcedEnvVarsPolicy: fc.constantFrom('AppendIfNotExists', 'Replace', 'Ignore'),
    allowInsecureTLS: fc.boolean(),
  } as const);
  const exec = { args: ['-x'], env: [{ name: 'A', value: 'operator' }] };

  test('throws nothing but our errors, changes no input, and gives the same output for the same input', () => {
    fc.assert(
      fc.property(profile, providers, (given, settings) => {
        const configured = configureProviders(['google', 'aws'].map((name) => provider({ ...settings, name }, exec)));
        const before = JSON.stringify([given, configured]);
        const first = outcome(() => resolve(given, configured));
        assert.deepEqual(
          first,
          outcome(() => resolve(given, configured)),
        );
        assert.equal(JSON.stringify([given, configured]), before);
        if (!(first instanceof ProfileError)) assert.deepEqual(JSON.parse(JSON.stringify(first)), first);
      }),
      { numRuns: 800 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClusterProfile } from '../../src/access/cluster-profile.ts';
import { configureProviders } from '../../src/access/provider-schema.ts';
import { resolve } from '../../src/access/resolve.ts';
import { ProfileError } from '../../src/errors/index.ts';
import { argsExtension, envsExtension, execExtension, outcome, provider, server } from '../fixtures/resolving.ts';

const forged = 'x\n2026-01-01T00:00:00Z INFO all is well\r\u001b[2J\u009b31m\u2028\u202e';
const long = 'é'.repeat(700_000);

const rules = {
  profileSourcedCLIArgsPolicy: 'Append',
  profileSourcedEnvVarsPolicy: 'Replace',
  allowedArgs: ['-v'],
  allowedEnvVars: ['CLUSTER'],
  allowedServers: ['https://*.example.dev:6443'],
} as const;
const providers = configureProviders([provider(rules, { provideClusterInfo: true })]);

const cluster = (more: object) => ({ accessProviders: [{ name: 'google', cluster: { server, ...more } }] });
const extension = (name: string, value: unknown) => cluster({ extensions: [{ name, extension: value }] });

/** Each place of a profile whose text comes back in an error, or in what is ignored. */
const places: Readonly<Record<string, (text: string) => object>> = {
  'the name': (name) => ({ metadata: { name, namespace: name }, status: {} }),
  'an access type': (name) => ({ status: { accessProviders: [{ name, cluster: {} }] } }),
  'many access types': (name) => {
    const accessProviders = Array.from({ length: 5_000 }, (_, index) => ({ name: `${index}${name.slice(0, 60)}` }));
    return { status: { accessProviders } };
  },
  'a field of a cluster': (field) => ({ status: cluster({ [field]: 1 }) }),
  'an extension': (name) => ({ status: extension(name.slice(0, 200_000), 1) }),
  'an extension that stands there twice': (name) => {
    const twice = { name: name.slice(0, 50_000) };
    return { status: cluster({ extensions: [twice, twice] }) };
  },
  'a key of the exec extension': (key) => ({ status: extension(execExtension, { [key.slice(0, 100_000)]: 2 ** 60 }) }),
  'an argument': (text) => ({ status: extension(argsExtension, [text.slice(0, 50_000)]) }),
  'the name of a variable': (name) => ({ status: extension(envsExtension, { [name.slice(0, 50_000)]: '' }) }),
  'the name of a variable without a value': (name) => ({
    status: extension(envsExtension, { [`${name.slice(0, 999)}`]: null }),
  }),
  'a server': (text) => ({ status: cluster({ server: `https://${text.slice(0, 1_500)}` }) }),
  "a server's path": (text) => ({ status: cluster({ server: `https://h/${encodeURI(text.slice(0, 200))}` }) }),
  'a server name': (text) => ({
    status: cluster({ 'tls-server-name': `n${text.replace(/[\s\p{Cc}:\u2028]/gu, '').slice(0, 100)}` }),
  }),
  'a proxy': (text) => ({ status: cluster({ 'proxy-url': `http://${text.slice(0, 1_000)}` }) }),
};

describe('text of a profile', () => {
  for (const [place, profileWith] of Object.entries(places)) {
    for (const [what, text] of Object.entries({ 'forges no line': forged, 'fills no log': long })) {
      test(`${what}: ${place}`, () => {
        const shown = tellAll(profileWith(text));
        assert.ok(shown.length > 0);
        for (const message of shown) {
          assert.ok(!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(message), JSON.stringify(message));
          assert.ok(Buffer.byteLength(message) <= 4_096, `${Buffer.byteLength(message)} bytes`);
        }
      });
    }
  }

  test('that is ordinary is shown as it is', () => {
    const [message] = tellAll({ metadata: { name: 'köln', namespace: 'fleet' }, status: cluster({ server: '' }) });
    assert.match(message ?? '', /^ClusterProfile fleet\/köln: status\.accessProviders\[0\]\.cluster\.server: is empty/);
  });

  test('leaves the advice at the end of a message that is too long', () => {
    const [message] = tellAll(places['an access type']?.(long) ?? {});
    assert.match(message ?? '', /^ClusterProfile .*offers é.* \[…\] .*in the provider file$/);
    const [many] = tellAll(places['many access types']?.('x') ?? {});
    assert.match(many ?? '', /offers 0x, 1x, .*, 19x, 4980 more \(configured: google\): add a provider/);
  });
});

/** Every text that a caller would print. */
function tellAll(profile: ClusterProfile): readonly string[] {
  const told = outcome(() => resolve(profile, providers));
  if (told instanceof ProfileError) return [told.message, told.profile, told.path];
  return told.ignored.flatMap(({ path, reason }) => [path, reason]);
}

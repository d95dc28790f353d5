import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { parseFlags } from '../../src/access/flags.ts';
import { parseProviderFile } from '../../src/access/provider-schema.ts';
import { decodeExecCredential } from '../../src/exec/exec-credential.ts';
import { StaticCredentialSource } from '../../src/exec/static-credential-source.ts';
import { CredentialProviders, RestConfig } from '../../src/index.ts';
import { loadExecCredential } from '../../src/plugin/index.ts';
import { redact } from '../../src/redaction/known-secrets.ts';
import { parseProxy } from '../../src/rest/transport/proxy.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { kubeconfig } from '../fixtures/kubeconfigs.ts';
import { fc } from '../fixtures/property.ts';
import { rejection } from '../fixtures/thrown.ts';

/** Everything that a value could show of itself. */
function shown(value: unknown): string {
  const texts = [inspect(value, { depth: 12, showHidden: true, getters: true }), String(value), JSON.stringify(value)];
  try {
    texts.push(inspect(structuredClone(value), { depth: 12 }));
  } catch {
    // What cannot be cloned shows nothing.
  }
  if (value instanceof Error) {
    texts.push(value.stack ?? '', JSON.stringify(value, Object.getOwnPropertyNames(value)), shown(value.cause ?? ''));
  }
  return texts.join('\n');
}

/** What comes out of some work: its result, or its error. */
function outcome(work: () => unknown): string {
  try {
    return shown(work());
  } catch (error) {
    return shown(error);
  }
}

const canary = fc.stringMatching(/^[A-Za-z0-9]{8,24}$/).map((text) => `CANARY${text}`);
/** Text around a secret that could carry it past a filter. */
const noise = fc.constantFrom(
  '',
  ' ',
  '\n',
  '"',
  "'",
  '\\',
  ': ',
  '=',
  '{',
  '[',
  '\u001b[0m',
  '\0',
  ' Bearer ',
  'token=',
);
const cases = 400;

describe('a secret', () => {
  test(`is in nothing that comes of it: ${cases} cases of answers, kubeconfigs, proxies, files and flags`, () => {
    const v1 = 'client.authentication.k8s.io/v1';
    const pair = createCertificateAuthority().issue({ commonName: 'c', client: true });
    const decoded = (answer: string) => outcome(() => decodeExecCredential(answer, [v1]));
    const answered = (status: unknown) => decoded(JSON.stringify({ apiVersion: v1, status }));
    const loaded = (parts: Parameters<typeof kubeconfig>[0], after = '') =>
      outcome(() => RestConfig.fromKubeConfig({ text: `${kubeconfig(parts)}${after}` }));
    const read = (file: string) => outcome(() => parseProviderFile(file, 'file'));
    const paths: readonly ((secret: string, around: string, other: string) => string)[] = [
      // What a plugin answers, well or badly.
      (secret) => answered({ token: secret }),
      (secret, around) => decoded(`${around}${secret}${around}`),
      (secret, around) => answered(`${around}${secret}`),
      (secret, around, other) =>
        decoded(JSON.stringify({ apiVersion: `${v1}${around}${secret}`, kind: other, status: { token: secret } })),
      (secret, around) => answered({ token: `${secret}${around}`, expirationTimestamp: secret }),
      (secret) => answered({ clientCertificateData: pair.certificate, clientKeyData: secret }),
      (secret) => answered({ clientCertificateData: pair.certificate, clientKeyData: `${pair.key}${secret}` }),
      // What it writes on stderr.
      (secret, around) => redact(`${around}${secret}${around} and ${secret}`, [secret]),
      (secret, around) => redact(`${around}Bearer ${secret}${around}`, []),
      (secret, around) => redact(`${around}DB_PASSWORD=${secret}${around}`, []),
      (secret, around, other) => redact(`${around}{"clientSecret":"${secret}","x":"${other}"}${around}`, []),
      (secret, around) => redact(`${around} curl -u me:${secret} ${around}`, []),
      (secret) => redact(`https://user:${secret}@host/path`, []),
      (secret, around) => redact(`${around}-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----`, []),
      // What a kubeconfig holds.
      (secret) => loaded({ user: { token: secret } }),
      (secret) => loaded({ user: { username: 'u', password: secret } }),
      (secret, around) => loaded({ user: { token: secret, username: around || 'u', password: secret } }),
      (secret) => loaded({ user: { 'client-key-data': btoa(secret), 'client-certificate-data': 'YQ==' } }),
      (secret, around) => loaded({ user: { 'client-key-data': `${around}${secret}` } }),
      (secret, around) => loaded({ user: { token: secret } }, around),
      (secret) => loaded({ cluster: { 'proxy-url': `http://u:${secret}@p:3128` } }),
      (secret, around) => loaded({ cluster: { 'proxy-url': `http://u:${secret}${around}@p:x` } }),
      (secret, around) => loaded({ cluster: { server: `https://u:${secret}@h${around}` } }),
      (secret) => loaded({ user: { token: [secret] } }),
      (secret) => outcome(() => new StaticCredentialSource('k', { token: secret }, { clock: Date.now })),
      // What the environment's proxies hold, and a profile that must not.
      (secret) => outcome(() => parseProxy(`http://u:${secret}@proxy:3128`)),
      (secret, around) => outcome(() => parseProxy(`htp://u:${secret}@${around}`)),
      (secret, around) => {
        const providers = new CredentialProviders([{ name: 'x', execConfig: { apiVersion: v1, command: 'p' } }]);
        const profile = (cluster: object) => ({
          status: { accessProviders: [{ name: 'x', cluster: { server: 'https://h', ...cluster } }] },
        });
        return [
          outcome(() => providers.getConfig(profile({ server: `https://u:${secret}@h${around}` }))),
          outcome(() => providers.getConfig(profile({ 'proxy-url': `http://u:${secret}@h${around}` }))),
          outcome(() => providers.getConfig(profile({ server: `https://${secret}:x@h` }))),
        ].join('\n');
      },
      // What the operator's files and flags hold in the wrong place.
      (secret, around) => {
        const env = `[{name: A, value: [${secret}]}]`;
        return read(`providers: [{name: x, execConfig: {apiVersion: ${v1}, command: p, env: ${env}}}]${around}`);
      },
      (secret) => read(`{"providers": [{"name": "x", "allowInsecureTLS": "${secret}"}`),
      (secret) => {
        const option = `x=execConfig.env=[{name: A, value: "${secret}"}]`;
        const flags = { 'clusterprofile-access-provider': ['x=p'], 'clusterprofile-access-provider-option': [option] };
        return outcome(() => parseFlags(flags).options);
      },
      // What a plugin is told.
      (secret, around) => outcome(() => loadExecCredential(`${around}{"spec": "${secret}"}${around}`)),
    ];
    fc.assert(
      fc.property(canary, noise, canary, fc.nat(paths.length - 1), (secret, around, other, index) => {
        const text = paths[index]?.(secret, around, other) ?? assert.fail('no such case');
        assert.ok(!text.includes(secret), `case ${index} shows it: ${text}`);
      }),
      { numRuns: cases },
    );
  });

  test('that is configured as a variable is in nothing that is printed of a config, and is there to be read', () => {
    const secret = 'CANARY-51f0c2d9e7';
    const env = [{ name: 'WHATEVER', value: secret }];
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'p', env } as const;
    const providers = new CredentialProviders([{ name: 'x', execConfig: exec }]);
    const profile = { status: { accessProviders: [{ name: 'x', cluster: { server: 'https://h' } }] } };
    const printed = (value: unknown) => [inspect(value, { depth: 12, showHidden: true }), JSON.stringify(value)].join();
    for (const config of [providers.getConfig(profile), RestConfig.fromKubeConfig({ text: kubeconfig({ exec }) })]) {
      for (const value of [config, config.access, config.access.exec, { config }]) {
        assert.ok(!printed(value).includes(secret), printed(value));
        assert.match(printed(value), /\[redacted\]/);
      }
      assert.deepEqual(config.access.exec?.env, env);
      assert.ok(config.exportConfig().includes(secret), 'kubectl has to be told');
    }
    assert.ok(!inspect(providers.resolve(profile), { depth: 12 }).includes(secret));
    assert.deepEqual(JSON.parse(JSON.stringify(providers.resolve(profile))).exec.env, env);
    assert.deepEqual(providers.getConfig(profile).access, providers.resolve(profile));
  });

  test('is in nothing that a real config, its requests, its errors and its events show', async (t) => {
    const secret = 'CANARY-51f0c2d9e7';
    const said: string[] = [];
    const log = (fields: object, message: string) => said.push(shown(fields), message);
    const { cluster, plugin, config, providers } = await startFleet(t, {
      cluster: { tokens: { [secret]: 'me' } },
      answer: { token: secret, stderr: `the token is ${secret}\n` },
      options: { logger: { warn: log, info: log, debug: log } },
    });
    const core = config.makeApiClient(CoreV1Api);
    await core.listNamespace();
    const parts = () => [config, providers, config.dispatcher, config.access].map(shown);
    said.push(...parts(), config.exportConfig());
    cluster.setTokens({});
    for (const answer of [
      { token: secret, stderr: `using ${secret}\n`, exitCode: 1 },
      { exitCode: 1, stderr: `cannot use ${secret}` },
      // Nothing on stdout, and the credential has been invalidated: only what was known before can be recognised.
      { stdout: '', stderr: `the token ${secret} has expired`, exitCode: 1 },
      { stdout: `{"apiVersion": "${secret}"}` },
      { stdout: `{"token":"${secret}"`, stderr: `Bearer ${secret}` },
      { stdout: `${secret}` },
      { token: `${secret}\n` },
    ]) {
      await plugin.answer(answer);
      // With the credential of before at first, which is refused.
      said.push(shown(await rejection(core.listNamespace())));
      config.invalidate();
      said.push(shown(await rejection(core.listNamespace())), shown(await rejection(config.ready())));
    }
    said.push(...parts());
    assert.ok(said.length > 20);
    for (const text of said) assert.ok(!text.includes(secret), text);
  });
});

// Profiles of somebody who may write one and wants more than that: drawn at random, each refused by a rule, at once and in print.
import assert from 'node:assert/strict';
import { type ClusterProfile, type CredentialProviders, ProfileError } from '../../src/index.ts';
import { argsExtension, envsExtension, execExtension } from '../fixtures/resolving.ts';

/** What a provider has to have, so that each of these is refused; its allowed server stands in `good`. */
export const hostileRules = {
  profileSourcedCLIArgsPolicy: 'Append',
  profileSourcedEnvVarsPolicy: 'AppendIfNotExists',
  allowedProfiles: { namespaces: ['fleet', 'team-*'] },
  allowedArgs: ['--scope=*/*/*/get', '*a*a*a*a*b'],
} as const;

/** Milliseconds that no profile may take, on any machine: 1 is usual. */
const longestMs = 1_000;

interface Good {
  readonly name: string;
  readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
}

/** Tries one hostile profile. Gives the milliseconds that it took. */
export function tryHostile(providers: CredentialProviders, good: Good, random: () => number): number {
  const pick = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)] ?? assert.fail();
  const many = (most: number) => Math.floor(random() * most);
  const { cluster } = good;
  const { origin, port } = new URL(cluster.server);
  const profile = (more: object, metadata: object = { name: 'spoke', namespace: 'fleet' }): ClusterProfile => ({
    metadata,
    status: { accessProviders: [{ name: good.name, cluster: { ...cluster, ...more } }] },
  });
  const extension = (name: string, value: unknown) => profile({ extensions: [{ name, extension: value }] });
  const forged = `x\n${'ERROR forged\u001b[2J\u2028'.repeat(many(1_000))}`;
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const variable = pick(
    'AWS_ENDPOINT_URL_STS',
    'azure_authority_host',
    'GODEBUG',
    'KUBERNETES_SERVICE_HOST',
    'Zdotdir',
  );
  const [code, attempt] = pick<() => readonly [ProfileError['code'], ClusterProfile]>(
    () => ['SERVER_NOT_ALLOWED', profile({ server: pick('https://attacker.dev', `https://[::1]:${port}/v1`, origin) })],
    () => [
      'SERVER_NOT_ALLOWED',
      profile({ server: `${origin}/${pick('v1/projects/2', 'v1/projects/1/..;/2', 'v1%2fprojects')}` }),
    ],
    () => ['SERVER_NOT_ALLOWED', profile({ 'tls-server-name': pick('attacker.dev', '127.0.0.2', 'localhost') })],
    () => ['SERVER_INVALID', profile({ server: `https://${forged.slice(0, 1_000)}` })],
    () => ['PROFILE_TOO_LARGE', profile({ server: `${origin}${'/'.repeat(5_000 + many(1_000_000))}x` })],
    () => ['PROXY_NOT_ALLOWED', profile({ 'proxy-url': pick('http://attacker.dev', 'socks5://127.0.0.1:1') })],
    () => ['SERVER_INSECURE', profile({ 'insecure-skip-tls-verify': true, 'certificate-authority-data': '' })],
    () => ['CA_INVALID', profile({ 'certificate-authority-data': btoa(pem.repeat(1 + many(10_000))) })],
    () => ['PROFILE_NOT_ALLOWED', profile({}, { name: forged, namespace: pick(forged, '', 'tenant', 'Fleet') })],
    () => ['ENV_NOT_ALLOWED', extension(envsExtension, { [variable]: 'x' })],
    () => ['EXTENSION_INVALID', extension(envsExtension, { [`${forged}=`]: 'x' })],
    () => ['ARG_NOT_ALLOWED', extension(argsExtension, [`--scope=${'/'.repeat(many(100_000))}`])],
    () => ['ARG_NOT_ALLOWED', extension(argsExtension, ['a'.repeat(many(100_000))])],
    () => ['PROFILE_TOO_LARGE', extension(execExtension, { [forged]: 'x'.repeat(262_144 + many(1_000_000)) })],
  )();
  const began = performance.now();
  try {
    providers.getConfig(attempt);
  } catch (error) {
    const ms = performance.now() - began;
    assert.ok(error instanceof ProfileError && error.code === code, String(error));
    assert.ok(!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(error.message), JSON.stringify(error.message));
    assert.ok(Buffer.byteLength(error.message) <= 4_096);
    assert.ok(ms < longestMs, `${code} took ${ms} ms`);
    return ms;
  }
  return assert.fail(`${code}: was let in`);
}

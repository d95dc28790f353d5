// What `publish` decides without a server: names, providers, when a token is due, and when a cluster is reported as unhealthy.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Provider } from '../../../src/diagnose/index.ts';
import { planProviders } from '../../../src/program/publish/plan-providers.ts';
import { type Health, Hysteresis } from '../../../src/program/publish/profiles.ts';
import { withProviders } from '../../../src/program/publish/provider-file.ts';
import { stateOfToken } from '../../../src/program/publish/secrets.ts';
import { profileNamer, type SourceCluster } from '../../../src/program/publish/source.ts';

describe('profileNamer', () => {
  const nameOf = profileNamer('{context}', ['context', 'cluster']);
  const name = (context: string) => nameOf({ context, cluster: 'c' });

  test('keeps a name that Kubernetes takes, and makes others valid, different and stable', () => {
    assert.equal(name('prod-eu.example'), 'prod-eu.example');
    const contexts = ['Prod', 'prod_', '_prod', 'arn:aws:eks:eu-west-1:1:cluster/prod', 'x'.repeat(300), 'ä', 'a..b'];
    const names = contexts.map(name);
    assert.equal(new Set(names).size, contexts.length);
    assert.deepEqual(contexts.map(name), names);
    for (const one of names)
      assert.match(one, /^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  });

  test('refuses a pattern that names something else', () => {
    assert.throws(() => profileNamer('{user}', ['context', 'cluster']), /\{user\} is not a field/);
  });
});

const needOf = (name: string, exec: Partial<SourceCluster['exec']>, cluster: object = {}): SourceCluster => ({
  origin: name,
  namespace: 'fleet',
  name,
  displayName: name,
  cluster: {
    server: `https://${name}.example.dev`,
    insecureSkipTlsVerify: false,
    disableCompression: false,
    ...cluster,
  },
  access: {} as SourceCluster['access'], // not read
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/bin/aws',
    args: ['get-token', '--cluster', name],
    env: [],
    provideClusterInfo: false,
    interactiveMode: 'Never',
    ...exec,
  },
  type: 'eks',
});

describe('planProviders', () => {
  const plan = (existing: readonly Provider[], needs: readonly SourceCluster[], force = false) =>
    planProviders(existing, needs, { clusterManager: 'publish', force });

  test('lists proxies, server names and insecure TLS only where a cluster needs them', () => {
    const cluster = { proxyUrl: 'http://proxy:3128', tlsServerName: 'api.internal', insecureSkipTlsVerify: true };
    const { providers, served, refused } = plan([], [needOf('one', {}), needOf('two', {}, cluster)]);
    assert.deepEqual(refused, []);
    const [{ allowedProxies, allowedServerNames, allowInsecureTLS, allowedArgs } = assert.fail()] = providers;
    assert.deepEqual(
      [allowedProxies, allowedServerNames, allowInsecureTLS],
      [['http://proxy:3128'], ['api.internal'], true],
    );
    assert.deepEqual(allowedArgs, ['one', 'two']);
    assert.equal(served.length, 2);
  });

  test('writes no pattern that a kubeconfig holds into a list: what only that would let through is not published', () => {
    const kubeconfigs: Readonly<Record<string, readonly [exec: object, cluster?: object]>> = {
      addresses: [{}, { server: 'https://10.1.2.3/0:6443' }],
      hosts: [{}, { server: 'https://*.gke.goog' }],
      broken: [{}, { server: 'https://10.1.2.3/99' }],
      'tls-name': [{}, { tlsServerName: '*' }],
      proxy: [{}, { proxyUrl: 'http://*.example.dev' }],
      argument: [{ args: ['get-token', '*'] }],
      variable: [{ env: [{ name: 'A*', value: '1' }] }],
    };
    const needs = Object.entries(kubeconfigs).map(([name, [exec, cluster]]) => needOf(name, exec, cluster));
    const { providers, served, refused } = plan([], [needOf('one', {}), needOf('two', {}), ...needs]);
    assert.deepEqual(
      served.map(({ source }) => source.name),
      ['one', 'two'],
    );
    assert.deepEqual(
      refused.map(({ name }) => name),
      Object.keys(kubeconfigs),
    );
    const { name: _, execConfig: __, ...lists } = providers[0] ?? assert.fail();
    assert.doesNotMatch(JSON.stringify(lists), /\*|10\.1\.2\.3/);
  });

  test('leaves the provider file as it is for what it does not publish, with --force too', () => {
    const need = needOf('one', {}, { server: 'https://*.example.dev', insecureSkipTlsVerify: true });
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/aws' } as const;
    const own: Provider = {
      name: 'ops',
      execConfig,
      allowedServers: ['https://ok.example.dev'],
      allowedEnvVars: ['A*'],
    };
    for (const [existing, force] of [
      [[], false],
      [[own], false],
      [[own], true],
    ] as const) {
      const { providers, changed, refused } = plan(existing, [need], force);
      assert.deepEqual([providers, changed.size], [existing, 0]);
      assert.match(
        refused[0]?.message ?? '',
        /^"https:\/\/\*\.example\.dev" would not stand for itself alone in allowedServers/,
      );
    }
  });

  test('uses a provider of the file that fits, whatever it is called, and gives another command one of its own', () => {
    const execConfig = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '/bin/aws',
      args: ['get-token'],
    } as const;
    const open: Provider = { name: 'eks', execConfig, profileSourcedCLIArgsPolicy: 'Append' };
    const { served, changed, providers } = plan([open], [needOf('one', {}), needOf('two', { command: '/opt/aws' })]);
    assert.deepEqual(
      served.map(({ entry }) => entry.name),
      ['eks', 'eks-2'],
    );
    assert.deepEqual([...changed], ['eks-2']);
    assert.equal(providers[0], open);
  });
});

describe('withProviders', () => {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } as const;

  test('adds to JSON as JSON, and to YAML with its comments', () => {
    const providers: readonly Provider[] = [
      { name: 'a', execConfig },
      { name: 'b', execConfig },
    ];
    const added = new Set(['b']);
    const json = withProviders('p', '{ "providers": [{"name":"a"}] }', providers, added);
    assert.deepEqual(JSON.parse(json), { providers });
    const yaml =
      'providers:\n- name: a # ours\n  execConfig:\n    apiVersion: client.authentication.k8s.io/v1\n    command: x\n';
    assert.ok(withProviders('p', yaml, providers, added).startsWith(`${yaml}- name: b\n`));
  });

  test('widens what is said of a provider, and leaves the rest as it is written', () => {
    const yaml = (policy: string, servers: string) =>
      `providers:\n- name: 'a' # ours\n  allowedServers: [ ${servers} ] # all of them\n  profileSourcedCLIArgsPolicy: ${policy} # for now\n  execConfig: { apiVersion: client.authentication.k8s.io/v1, command: x }\n`;
    const wider: Provider = {
      name: 'a',
      execConfig,
      allowedServers: ['https://a', 'https://b'],
      profileSourcedCLIArgsPolicy: 'Append',
      allowedArgs: ['x'],
    };
    const text = withProviders('p', yaml('Ignore', 'https://a'), [wider], new Set(['a']));
    assert.ok(text.startsWith(yaml('Append', 'https://a, https://b')), text);
    assert.match(text, /^ {2}allowedArgs:\n {2}- x$/m);
  });
});

describe('a token', () => {
  const account = { namespace: 'kube-system', name: 'bot', clusterRole: 'edit', lifetimeMs: 0 };
  const claims = { sub: 'system:serviceaccount:kube-system:bot', iat: 1_000, exp: 1_900 };
  const jwt = (content: object) => `e30.${Buffer.from(JSON.stringify(content)).toString('base64url')}.x`;

  test('is due at two thirds of its life, and over if it is of another account', () => {
    const state = (seconds: number, content: object = claims) => stateOfToken(jwt(content), account, seconds * 1_000);
    assert.deepEqual(
      [1_000, 1_599, 1_600, 1_899, 1_900].map((now) => state(now)),
      ['fresh', 'fresh', 'due', 'due', 'over'],
    );
    assert.equal(state(1_000, { ...claims, sub: 'system:serviceaccount:kube-system:other' }), 'over');
    assert.equal(stateOfToken('not a JWT', account, 0), 'over');
  });
});

describe('the health of a cluster', () => {
  const failed: Health = { status: 'Unknown', reason: 'CONNECT_TIMEOUT', message: '' };
  const good: Health = { status: 'True', reason: 'Ready', message: '' };

  test('is reported at once if nothing was reported before, then as bad after three failures in a row, and as good after one success', () => {
    const hysteresis = new Hysteresis();
    assert.equal(hysteresis.next('fleet/new', undefined, failed), failed);
    const next = (reported: Health, found: Health) => hysteresis.next('fleet/one', reported.status, found);
    assert.deepEqual([next(good, failed), next(good, failed), next(good, good)], [undefined, undefined, good]);
    assert.deepEqual([next(good, failed), next(good, failed), next(good, failed)], [undefined, undefined, failed]);
    assert.equal(next(failed, good), good);
  });
});

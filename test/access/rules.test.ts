import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Provider } from '../../src/access/provider.ts';
import { configureProviders } from '../../src/access/provider-schema.ts';
import { resolve } from '../../src/access/resolve.ts';
import { ProfileError } from '../../src/errors/index.ts';
import { outcome } from '../fixtures/resolving.ts';

const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: 'p', provideClusterInfo: true } as const;

/** The code and message of the refusal, or the resolved access. */
function resolved(provider: Partial<Provider>, cluster: object) {
  const providers = configureProviders([{ name: 'x', execConfig, ...provider }]);
  const profile = {
    metadata: { name: 'spoke', namespace: 'fleet' },
    status: { accessProviders: [{ name: 'x', cluster: { server: 'https://a.example.com', ...cluster } }] },
  };
  const result = outcome(() => resolve(profile, providers));
  return result instanceof ProfileError ? `${result.code} ${result.message}` : result;
}

describe('allowedServers', () => {
  const allowedServers = ['https://*.example.com', 'https://gateway.dev/v1'];
  test('lets a profile name one of them', () => {
    assert.equal(typeof resolved({ allowedServers }, {}), 'object');
    assert.equal(typeof resolved({ allowedServers }, { server: 'https://gateway.dev/v1/projects/1' }), 'object');
  });

  test('refuses every other, with the list that refused it', () => {
    assert.equal(
      resolved({ allowedServers }, { server: 'https://evil.dev/secret-path' }),
      'SERVER_NOT_ALLOWED ClusterProfile fleet/spoke: status.accessProviders[0].cluster.server: https://evil.dev/secret-path is not in ' +
        'allowedServers of provider x (https://*.example.com, https://gateway.dev/v1): no credential is sent there; correct the profile, or the list',
    );
    assert.match(String(resolved({ allowedServers: [] }, {})), /^SERVER_NOT_ALLOWED .*\(empty\)/);
  });

  test("refuses a proxy of the profile's choice, which could play an allowed server, unless allowedProxies has it", () => {
    const cluster = { 'proxy-url': 'http://proxy.example:3128' };
    assert.match(String(resolved({ allowedServers }, cluster)), /^PROXY_NOT_ALLOWED .*list it in allowedProxies/);
    assert.equal(typeof resolved({ allowedServers, allowedProxies: ['http://proxy.example:3128'] }, cluster), 'object');
    assert.match(String(resolved({ allowedProxies: ['socks5://*.example'] }, cluster)), /^PROXY_NOT_ALLOWED/);
    assert.equal(typeof resolved({}, cluster), 'object');
  });
});

describe('tls-server-name, by which a router may choose another server than the allowed one,', () => {
  const allowedServers = ['https://*.example.com', 'https://10.0.0.0/8'];
  const at = 'status.accessProviders[0].cluster.tls-server-name';

  test("may be the server's own host", () => {
    for (const name of ['a.example.com', 'A.Example.com', 'a.example.com.']) {
      assert.equal(typeof resolved({ allowedServers }, { 'tls-server-name': name }), 'object', name);
    }
    const address = { server: 'https://10.0.0.1', 'tls-server-name': '10.0.0.1' };
    assert.equal(typeof resolved({ allowedServers }, address), 'object');
  });

  test('may not be another allowed host, or any other', () => {
    const others = ['attacker.dev', 'b.example.com', 'example.com', 'a.example.com.attacker.dev', 'a%2eexample.com'];
    for (const name of others) {
      assert.equal(
        resolved({ allowedServers }, { 'tls-server-name': name }),
        `SERVER_NOT_ALLOWED ClusterProfile fleet/spoke: ${at}: "${name}" is neither the host of server nor in ` +
          'allowedServerNames of provider x (empty): no credential is sent there; correct the profile, or the list',
      );
    }
  });

  test('may be what allowedServerNames has, which holds without allowedServers too', () => {
    const allowedServerNames = ['kubernetes.default.svc', '*.internal'];
    for (const rules of [{ allowedServers, allowedServerNames }, { allowedServerNames }]) {
      for (const name of ['kubernetes.default.svc', 'KUBERNETES.default.svc.', 'spoke.internal']) {
        assert.equal(typeof resolved(rules, { 'tls-server-name': name }), 'object', name);
      }
      for (const name of ['kubernetes.default', 'a.b.internal', 'internal', '10.0.0.1']) {
        assert.match(String(resolved(rules, { 'tls-server-name': name })), /^SERVER_NOT_ALLOWED/, name);
      }
    }
    assert.equal(typeof resolved({}, { 'tls-server-name': 'anything' }), 'object');
  });
});

describe('what a profile may set', () => {
  const envs = (extension: object) => ({
    extensions: [{ name: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs', extension }],
  });
  const replace = { profileSourcedEnvVarsPolicy: 'Replace' } as const;

  test('without allowedEnvVars is any variable but those that change what the plugin runs, reads or trusts', () => {
    assert.equal(typeof resolved(replace, envs({ CLUSTER: 'x', AWS_REGION: 'y' })), 'object');
    for (const name of ['LD_PRELOAD', 'home', 'AWS_ENDPOINT_URL_STS', 'ssl_cert_file']) {
      const refusal = String(resolved(replace, envs({ [name]: 'x' })));
      assert.match(refusal, /^ENV_NOT_ALLOWED .*exact name in allowedEnvVars/, name);
    }
  });

  test('with allowedEnvVars is what it names; a dangerous name only where it stands there itself', () => {
    const allowed = { ...replace, allowedEnvVars: ['CLUSTER_*', 'NODE_*', 'HOME', '*'] };
    assert.equal(typeof resolved(allowed, envs({ CLUSTER_NAME: 'x', HOME: '/h', other: 'y' })), 'object');
    assert.match(String(resolved(allowed, envs({ NODE_OPTIONS: 'x' }))), /^ENV_NOT_ALLOWED .*\["NODE_OPTIONS"\]/);
    assert.match(String(resolved(allowed, envs({ home: 'x' }))), /^ENV_NOT_ALLOWED/);
    const narrow = { ...replace, allowedEnvVars: ['CLUSTER_*'] };
    assert.match(String(resolved(narrow, envs({ CLUSTER: 'x' }))), /is not in allowedEnvVars \(CLUSTER_\*\)/);
  });

  test('is not looked at where the operator does not let it in, or sets it himself', () => {
    assert.equal(typeof resolved({}, envs({ LD_PRELOAD: 'x' })), 'object');
    const own = { execConfig: { ...execConfig, env: [{ name: 'HOME', value: '/mine' }] } };
    const result = resolved({ ...own, profileSourcedEnvVarsPolicy: 'AppendIfNotExists' }, envs({ HOME: '/theirs' }));
    assert.ok(typeof result === 'object');
    assert.deepEqual(result.exec.env, [{ name: 'HOME', value: '/mine' }]);
    assert.equal(result.ignored.length, 1);
  });

  test('of arguments is what allowedArgs matches as a whole', () => {
    const args = (...extension: string[]) => ({
      extensions: [{ name: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args', extension }],
    });
    const provider = { profileSourcedCLIArgsPolicy: 'Append', allowedArgs: ['--audience=*', '-v'] } as const;
    assert.equal(typeof resolved(provider, args('--audience=a\nb', '-v')), 'object');
    for (const bad of ['--audience', 'x--audience=a', '-v2', '--exec=/bin/sh']) {
      const refusal = String(resolved(provider, args('-v', bad)));
      assert.match(refusal, /^ARG_NOT_ALLOWED .*extension\[1\]: matches none of allowedArgs/);
    }
    assert.equal(typeof resolved({ profileSourcedCLIArgsPolicy: 'Append' }, args('--anything')), 'object');
  });
});

describe('allowedProfiles', () => {
  const rules = { allowedProfiles: { namespaces: ['fleet', 'team-*'], clusterManagers: ['gke-fleet'] } };
  const ask = (metadata: object | undefined, spec: unknown, settings: Partial<Provider> = rules) => {
    const cluster = { server: 'https://a.example.com' };
    const profile = { metadata, spec, status: { accessProviders: ['x', 'y'].map((name) => ({ name, cluster })) } };
    const providers = configureProviders([
      { name: 'x', execConfig, ...settings },
      { name: 'y', execConfig },
    ]);
    // @ts-expect-error some of these are no profiles
    const result = outcome(() => resolve(profile, providers));
    if (!(result instanceof ProfileError)) return result.provider;
    return `${result.code} ${result.path}: ${result.message.replace(/^.*?: .*?: /, '')}`;
  };
  const gke = { clusterManager: { name: 'gke-fleet' } };

  test('lets in the profiles of a namespace and of a cluster manager, where both are named', () => {
    assert.equal(ask({ name: 'p', namespace: 'fleet' }, gke), 'x');
    assert.equal(ask({ name: 'p', namespace: 'team-7' }, gke), 'x');
    assert.equal(ask({ name: 'p', namespace: 'any' }, gke, { allowedProfiles: { clusterManagers: ['*'] } }), 'x');
    const ofNamespace = { allowedProfiles: { namespaces: ['fleet'] } };
    assert.equal(ask({ name: 'p', namespace: 'fleet' }, undefined, ofNamespace), 'x');
    assert.equal(ask(undefined, undefined, {}), 'x');
  });

  test('refuses every other, and tries no other provider for it', () => {
    assert.equal(
      ask({ name: 'p', namespace: 'tenant' }, gke),
      'PROFILE_NOT_ALLOWED metadata.namespace: is "tenant", and must be in allowedProfiles.namespaces of provider x (fleet, team-*)',
    );
    assert.equal(
      ask({ name: 'p', namespace: 'fleet' }, { clusterManager: { name: 'other' } }),
      'PROFILE_NOT_ALLOWED spec.clusterManager.name: is "other", and must be in allowedProfiles.clusterManagers of provider x (gke-fleet)',
    );
    for (const namespace of ['Fleet', 'fleet ', 'team', '', 'x-team-1', 7, null]) {
      assert.match(ask({ name: 'p', namespace }, gke), /^PROFILE_NOT_ALLOWED metadata\.namespace/, String(namespace));
    }
    const wrong = ['gke-fleet', []].map((clusterManager) => ({ clusterManager }));
    for (const spec of [undefined, null, 'gke-fleet', {}, ...wrong, []]) {
      assert.match(ask({ namespace: 'fleet' }, spec), /^PROFILE_NOT_ALLOWED spec\.clusterManager\.name: is missing/);
    }
    assert.match(ask(undefined, gke), /^PROFILE_NOT_ALLOWED metadata\.namespace: is missing/);
    const nobody = { allowedProfiles: { namespaces: [] } };
    assert.match(ask({ namespace: 'fleet' }, gke, nobody), /of provider x \(empty\)$/);
  });
});

describe('a bad rule', () => {
  for (const [rules, message] of [
    [{ allowedServers: ['a.example.com'] }, /providers\[0\]\.allowedServers\[0\]: must be a URL/],
    [{ allowedServers: 'https://h' }, /providers\[0\]\.allowedServers: must be a list of URLs/],
    [{ allowedServers: ['ftp://h'] }, /must begin with https:\/\/ or http:\/\//],
    [{ allowedServerNames: ['https://h'] }, /allowedServerNames\[0\]: must be a host name, .* without scheme/],
    [{ allowedServerNames: ['h:443'] }, /must be a host name/],
    [{ allowedServerNames: [''] }, /must be a host name/],
    [{ allowedServerNames: ['10.0.*.*'] }, /has a \* in an address/],
    [{ allowedEnvVars: ['A,B'] }, /allowedEnvVars\[0\]: must be one name/],
    [{ allowedProxies: ['https://a*.h'] }, /has a \* inside of a label/],
    [{ allowedEnvVars: ['A*B'] }, /allowedEnvVars\[0\]: must be one name, or its beginning and a final \*/],
    [{ allowedArgs: [1] }, /allowedArgs\[0\]: must be text/],
    [{ allowedProfiles: ['fleet'] }, /allowedProfiles: must be an object with namespaces, clusterManagers, or both/],
    [{ allowedProfiles: {} }, /allowedProfiles: names nothing: give namespaces, clusterManagers, or both/],
    [{ allowedProfiles: { namespaces: 'fleet' } }, /allowedProfiles\.namespaces: must be a list of names/],
    [{ allowedProfiles: { namespaces: [''] } }, /allowedProfiles\.namespaces\[0\]: must be a name/],
    [{ allowedProfiles: { namespace: [] } }, /Profiles\.namespace: is not a known field \(did you mean namespaces\?\)/],
    [{ allowedServer: [] }, /did you mean allowedServers\?/],
  ] as const) {
    test(`is an error of the configuration: ${JSON.stringify(rules)}`, () => {
      // @ts-expect-error some of these are no rules
      const bad: Provider = { name: 'x', execConfig, ...rules };
      assert.throws(() => configureProviders([bad]), { name: 'ConfigurationError', message });
    });
  }
});

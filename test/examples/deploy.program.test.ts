// Each folder of examples/deploy as its reader would go through it: is it valid, does the controller start with it, may it go where
// its plugin has to go, and is it as narrow as it says. The e2e run applies them to a real API server.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { parse } from 'yaml';
import { CredentialProviders } from '../../src/index.ts';
import { programFile, writeInput } from '../fixtures/program.ts';
import { build, folder, type Manifest, read } from './kustomized.ts';

const projectedTokens = '/var/run/secrets';
const platforms = {
  gke: {
    provider: 'google',
    plugin: '/app/node_modules/.bin/gke-credentials',
    servers: [
      'https://connectgateway.googleapis.com/v1/projects/123456789012/locations/global/gkeMemberships/spoke-1',
      'https://us-central1-connectgateway.googleapis.com/v1/projects/123456789012/locations/us-central1/gkeMemberships/spoke-2',
      'https://gke-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b-123456789012.us-central1.gke.goog',
    ],
    foreign: [
      'https://connectgateway.googleapis.com/v1/projects/999999999999/locations/global/gkeMemberships/evil',
      'https://gke-ffffffffffffffffffffffffffffffffffff-999999999999.us-central1.gke.goog',
      'https://container.googleapis.com/v1/projects/123456789012',
    ],
    // The metadata server with Dataplane V2 and without, and DNS where it is Cloud DNS.
    reaches: [
      ['169.254.169.254', 80],
      ['169.254.169.252', 988],
      ['169.254.169.254', 53],
    ],
    not: [['203.0.113.7', 80]],
    inventory: 'fleet-cluster-inventory',
    environment: [],
  },
  eks: {
    provider: 'eks',
    plugin: '/app/node_modules/.bin/eks-credentials',
    servers: ['https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com'],
    foreign: ['https://ffffffffffffffffffffffffffffffff.gr7.eu-west-1.eks.amazonaws.com', 'https://eks.amazonaws.com'],
    reaches: [],
    // The node's own role.
    not: [['169.254.169.254', 80]],
    inventory: 'fleet-system',
    environment: ['AWS_REGION', 'AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  },
  aks: {
    provider: 'aks',
    plugin: '/app/node_modules/.bin/oidc-credentials',
    servers: ['https://spoke-1-a1b2c3d4.hcp.westeurope.azmk8s.io:443'],
    foreign: ['https://evil-a1b2c3d4.hcp.westeurope.azmk8s.io'],
    reaches: [],
    not: [['169.254.169.254', 80]],
    inventory: 'fleet-system',
    environment: ['AZURE_AUTHORITY_HOST', 'AZURE_CLIENT_ID', 'AZURE_FEDERATED_TOKEN_FILE', 'AZURE_TENANT_ID'],
  },
  plain: {
    provider: 'kubeconfig-secretreader',
    plugin: '/app/node_modules/.bin/kubeconfig-secretreader',
    servers: ['https://spoke-1.clusters.example.dev:6443', 'https://10.20.3.4:6443'],
    foreign: ['https://spoke-1.clusters.example.dev', 'https://10.21.0.1:6443', 'https://evil.example:6443'],
    reaches: [['10.20.3.4', 6443]],
    not: [['169.254.169.254', 80]],
    inventory: 'fleet-system',
    environment: [],
    reads: ['fleet-credentials secrets get'],
  },
  oidc: {
    provider: 'oidc',
    plugin: '/app/node_modules/.bin/oidc-credentials',
    servers: ['https://spoke-1.clusters.example.dev:6443'],
    foreign: ['https://spoke-1.clusters.example.dev', 'https://clusters.example.dev:6443', 'https://evil.example:6443'],
    reaches: [],
    not: [['169.254.169.254', 80]],
    inventory: 'fleet-system',
    environment: [],
  },
  spiffe: {
    provider: 'spire-agent',
    plugin: '/app/src/spire-agent-jwt.ts',
    servers: ['https://spoke-1.clusters.example.dev:6443'],
    foreign: ['https://a.spoke-1.clusters.example.dev:6443', 'https://evil.example:6443'],
    reaches: [],
    not: [['169.254.169.254', 80]],
    inventory: 'fleet-system',
    environment: ['SPIRE_AGENT', 'SPIRE_SOCKET'],
  },
  'open-cluster-management': {
    provider: 'open-cluster-management',
    plugin: '/plugins/clusterprofile-credentials-plugin',
    servers: ['https://cluster-proxy-addon-user.open-cluster-management-addon:9092/spoke-1'],
    foreign: [
      'https://cluster-proxy-addon-user.evil:9092/spoke-1',
      'https://cluster-proxy-addon-user.open-cluster-management-addon/x',
    ],
    reaches: [],
    not: [['203.0.113.7', 9092]],
    inventory: 'team-a',
    environment: ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT', 'NAMESPACE'],
    reads: ['team-a secrets get'],
    profile: { metadata: { namespace: 'team-a' }, spec: { clusterManager: { name: 'open-cluster-management' } } },
  },
} as const;

for (const [platform, expected] of Object.entries(platforms)) {
  describe(`examples/deploy/${platform}`, () => {
    const manifests = build(platform);
    const all = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
    const find = (kind: string) => all(kind)[0] ?? assert.fail(`no ${kind}`);
    const { metadata: podMetadata, spec } = find('Deployment').spec.template;
    const [container] = spec.containers;
    const providerFile: string = find('ConfigMap').data['providers.yaml'];

    /** The controller's own providers, from its arguments. */
    async function start(t: TestContext) {
      const path = await writeInput(t, 'providers.yaml', providerFile);
      const mounted = '--clusterprofile-provider-file=/etc/clusterprofile/providers.yaml';
      assert.ok(container.args.includes(mounted));
      const args = container.args.map((argument: string) =>
        argument.replace('/etc/clusterprofile/providers.yaml', path),
      );
      const providers = CredentialProviders.fromArgs(args);
      t.after(() => providers.close());
      return providers;
    }
    const profile = (server: string) => ({
      ...('profile' in expected ? expected.profile : {}),
      status: { accessProviders: [{ name: expected.provider, cluster: { server } }] },
    });

    test('starts a hardened controller that runs its one plugin', async (t) => {
      const providers = await start(t);
      assert.deepEqual(providers.accessTypes, [expected.provider]);
      for (const flag of [
        '--clusterprofile-hardened',
        // The default goes by the cores of the node, and the plugins of many would not fit into the container.
        '--clusterprofile-max-concurrent-runs=8',
        `--clusterprofile-plugin-allowlist=${expected.plugin}`,
      ]) {
        assert.ok(container.args.includes(flag), flag);
      }
      const [{ execConfig }] = parse(providerFile).providers;
      assert.equal(execConfig.command, expected.plugin);
    });

    test('serves profiles with the servers that they have there, and none for those of others', async (t) => {
      const providers = await start(t);
      for (const server of expected.servers) {
        assert.equal(providers.resolve(profile(server)).exec.command, expected.plugin);
      }
      for (const server of expected.foreign) {
        assert.throws(() => providers.resolve(profile(server)), { code: 'SERVER_NOT_ALLOWED' }, server);
      }
    });

    test('configures what its plugin needs of the environment, which it does not inherit', async (t) => {
      const { exec } = (await start(t)).resolve(profile(expected.servers[0]));
      assert.deepEqual(exec.env.map(({ name }) => name).sort(), expected.environment);
      const text = JSON.stringify(find('ServiceAccount'));
      for (const { name, value } of exec.env) {
        if (/_(?:ROLE_ARN|CLIENT_ID)$/.test(name))
          assert.ok(text.includes(value), `${name} is not the identity of ${text}`);
        if (name.endsWith('_FILE')) assert.ok(value.startsWith(projectedTokens), value);
      }
      assert.ok(container.env.some(({ name, value }: Manifest) => name === 'HOME' && value === '/tmp'));
    });

    test('may go where its plugin and its clusters are, and not further', () => {
      const policies = all('NetworkPolicy').filter(({ spec: { podSelector } }) =>
        Object.entries(podSelector.matchLabels).every(([name, value]) => podMetadata.labels[name] === value),
      );
      assert.equal(policies.length, all('NetworkPolicy').length);
      const isIn = (cidr: string, address: string) => {
        const [network = '', length] = cidr.split('/');
        const list = new BlockList();
        list.addSubnet(network, Number(length), 'ipv4');
        return list.check(address, 'ipv4');
      };
      const reaches = (address: string, port: number) =>
        policies.some(({ spec: { egress = [] } }) =>
          egress.some(({ to, ports }: Manifest) => {
            const there = !to || to.some(({ ipBlock }: Manifest) => ipBlock && isIn(ipBlock.cidr, address));
            return there && ports.some((open: Manifest) => open.port === port);
          }),
        );
      const everywhere = [
        ['203.0.113.7', 443],
        ['203.0.113.7', 6443],
        ['169.254.20.10', 53],
      ] as const;
      for (const [address, port] of [...everywhere, ...expected.reaches])
        assert.ok(reaches(address, port), `${address}:${port}`);
      for (const [address, port] of expected.not) assert.ok(!reaches(address, port), `${address}:${port}`);
    });

    test('runs as nobody, on a root and with plugins that it cannot write', () => {
      const { runAsNonRoot, seccompProfile } = spec.securityContext;
      assert.deepEqual([runAsNonRoot, seccompProfile.type], [true, 'RuntimeDefault']);
      assert.deepEqual(container.securityContext, {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      const writable = container.volumeMounts.filter((mount: Manifest) => !mount.readOnly);
      assert.deepEqual(
        writable.map((mount: Manifest) => mount.mountPath),
        ['/tmp'],
      );
      const volumes = spec.volumes.map((volume: Manifest) => volume.name);
      for (const mount of container.volumeMounts) assert.ok(volumes.includes(mount.name), mount.name);
      const { labels } = find('Namespace').metadata;
      assert.equal(labels['pod-security.kubernetes.io/enforce'], 'restricted');
    });

    test('may read ClusterProfiles where they are published, and nothing else but what its plugin reads', () => {
      const rules = all('Role').flatMap((role) =>
        role.rules.map((rule: Manifest) => `${role.metadata.namespace} ${rule.resources} ${rule.verbs}`),
      );
      assert.ok(
        rules.includes(`${expected.inventory} clusterprofiles,placementdecisions get,list,watch`),
        rules.join('; '),
      );
      const inventory = container.env.find(({ name }: Manifest) => name === 'INVENTORY');
      assert.equal(inventory.value, expected.inventory);
      const others = rules.filter((rule) => !rule.endsWith(' clusterprofiles,placementdecisions get,list,watch'));
      const leases = 'fleet-system leases get,list,watch,create,update,delete';
      assert.deepEqual(others.toSorted(), [...('reads' in expected ? expected.reads : []), leases].toSorted());
      for (const { metadata, roleRef, subjects } of all('RoleBinding')) {
        const isThere = ({ metadata: role }: Manifest) =>
          role.name === roleRef.name && role.namespace === metadata.namespace;
        assert.ok(all('Role').some(isThere), metadata.namespace);
        assert.deepEqual(subjects, [{ kind: 'ServiceAccount', name: 'fleet-controller', namespace: 'fleet-system' }]);
      }
      assert.deepEqual(all('ClusterRole'), []);
    });

    test('is what clusterprofile lint finds nothing wrong with', async () => {
      const files = ['base', platform]
        .map((name) => `${name}/*.yaml`)
        .flatMap((glob) => globSync(glob, { cwd: folder }));
      const { stderr } = await execa(process.execPath, [programFile, 'lint', ...files], { cwd: folder });
      assert.equal(stderr, `no problems in ${files.length} files`);
    });

    test('has one container, with its plugin in the image, that is probed where the example serves', () => {
      assert.equal(spec.initContainers, undefined);
      assert.equal(spec.containers.length, 1);
      const isAVolume = (path: string) =>
        container.volumeMounts.some(({ mountPath }: Manifest) => path.startsWith(mountPath));
      assert.ok(!isAVolume(expected.plugin));
      const served = readFileSync(join(folder, '../controller.ts'), 'utf8');
      const [port] = container.ports;
      assert.ok(served.includes(`?? ${port.containerPort})`));
      for (const [probe, path] of [
        [container.livenessProbe, '/healthz'],
        [container.readinessProbe, '/readyz'],
      ]) {
        assert.deepEqual([probe.httpGet.path, probe.httpGet.port], [path, port.name]);
        assert.ok(served.includes(`url === '${path}'`));
      }
    });
  });
}

describe('examples/deploy/eks', () => {
  test('lets a profile say which cluster the token is for, and set nothing else of the plugin', async () => {
    const [{ execConfig, ...rules }] = parse(read('eks/providers.yaml')).providers;
    assert.deepEqual(execConfig.args, ['--profile-cluster', 'spoke-*', '--region', 'eu-west-1']);
    assert.deepEqual(Object.keys(rules).sort(), ['allowedProxies', 'allowedServers', 'name']);
  });
});

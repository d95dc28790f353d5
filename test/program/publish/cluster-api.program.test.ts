import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { runProgram } from '../../fixtures/program.ts';
import { startPublished } from '../../fixtures/published.ts';

describe('clusterprofile publish --from-cluster-api', () => {
  test('publishes the kubeconfigs that Cluster API keeps, copies nothing, and needs nothing when one is rotated', async (t) => {
    const { runClusterApi, spokes, hub, env, path, providers, secrets } = await startPublished(t);
    const [first, second] = spokes;
    const secret = (name: string, cluster: string, value: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'cluster.x-k8s.io/secret',
      metadata: { namespace: 'team', name, labels: { 'cluster.x-k8s.io/cluster-name': cluster } },
      data: { value: Buffer.from(value).toString('base64') },
    });
    hub.add([
      secret('prod-kubeconfig', 'prod', first.kubeconfig()),
      secret('prod-ca', 'prod', 'not a kubeconfig'),
      secret('prod-user-kubeconfig', 'prod', first.kubeconfig()),
      secret('broken-kubeconfig', 'broken', '{"clusters": 7}'),
      secret('long-kubeconfig', 'long', '#'.repeat(200_000)),
      secret(
        'file-kubeconfig',
        'file',
        first.kubeconfig().replace(/"certificate-authority-data":"[^"]*"/, '"certificate-authority":"/etc/ca.pem"'),
      ),
      secret(
        'odd-kubeconfig',
        'odd',
        first.kubeconfig().replace('"token":', '"auth-provider":{"name":{"toString":1}},"token":'),
      ),
    ]);
    const { stdout, stderr, exitCode } = await runClusterApi('-A');
    assert.equal(exitCode, 10);
    assert.match(stdout, /^clusterprofile team\/prod +created +cluster-api-team, \S+, healthy/);
    assert.match(stderr, /^not published: secret team\/broken-kubeconfig: .*clusters: must be a list$/m);
    assert.match(
      stderr,
      /^not published: secret team\/long-kubeconfig: it has more than 131072 characters: write a kubeconfig/m,
    );
    assert.match(
      stderr,
      /^not published: secret team\/file-kubeconfig: .*\/etc\/ca\.pem cannot be read \(a Secret has no files\)$/m,
    );
    assert.match(stderr, /^not published: secret team\/odd-kubeconfig: its user has the auth-provider /m);
    assert.deepEqual(parse(await providers()).providers[0].allowedProfiles, { namespaces: ['team'] });
    assert.equal(secrets('team').length, 7);
    first.setTokens({ rotated: 'controller' });
    hub.set(secret('prod-kubeconfig', 'prod', first.kubeconfig()));
    const flags = ['-n', 'team', '--clusterprofile-provider-file', path('providers.yaml')];
    const check = await runProgram(t, ['check', ...flags], { env });
    assert.match(check.stdout, /1 cluster: 1 ok/);
    hub.add(secret('second-kubeconfig', 'second', second.kubeconfig()));
    const named = await runClusterApi('-n', 'team', '--name-pattern', '{namespace}', '--dry-run');
    assert.match(named.stderr, /: its name team\/team is taken by secret team\/\S+: choose another --name-pattern$/m);
  });
});

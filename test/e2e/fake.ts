// FakeCluster beside a real API server: both are sent the same requests, and have to answer the same.
import { FakeCluster } from '../../src/testing/index.ts';
import { startControlPlane } from './control-plane.ts';
import { readYamlFile } from './crd.ts';
import { compareCompaction } from './fake/compaction.ts';
import { compareDiscovery } from './fake/discovery.ts';
import { compareScenarios } from './fake/scenarios.ts';
import { agentFor, Side } from './fake/sides.ts';

/** How many answers were compared, by what they are about. Throws at the first that the two give differently. */
export async function compareFake(programs: string): Promise<ReadonlyMap<string, number>> {
  const plane = await startControlPlane(programs, 'fake');
  try {
    const { certificate, key } = plane.certificateAuthority.issue({
      commonName: 'admin',
      organizations: ['system:masters'],
      client: true,
    });
    const ca = Buffer.from(plane.certificateAuthorityData, 'base64').toString();
    await using cluster = await FakeCluster.start({
      tokens: { admin: { username: 'admin', groups: ['system:masters'] } },
    });
    const real = new Side('kube-apiserver', plane.server, agentFor(ca, { cert: certificate, key }), {});
    const fake = new Side('FakeCluster', cluster.url, agentFor(cluster.certificateAuthority.certificate), {
      authorization: 'Bearer admin',
    });
    try {
      // FakeCluster serves it from the start.
      const definition = readYamlFile('crds/multicluster.x-k8s.io_clusterprofiles.yaml');
      const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const { code } = await real.send({ method: 'POST', path: crds, body: definition as never });
      if (code !== 201) throw new Error(`the definition of ClusterProfiles was answered with ${code}`);
      return new Map([
        ['steps of scenarios', await compareScenarios([real, fake])],
        ['questions after a compaction', await compareCompaction(plane, cluster, [real, fake])],
        ['resources in discovery', await compareDiscovery(real, fake)],
      ]);
    } finally {
      await Promise.all([real.close(), fake.close()]);
    }
  } finally {
    await plane.close();
  }
}

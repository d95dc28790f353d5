// FakeCluster beside a real API server: both are sent the same requests, and have to answer the same.
import { sideAt, startFake } from '../testing/scenarios/side.ts';
import { startControlPlane } from './control-plane.ts';
import { readYamlFile } from './crd.ts';
import { compareScenarios } from './fake/compare-scenarios.ts';
import { compareDiscovery } from './fake/discovery.ts';

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
    await using fake = await startFake();
    const real = sideAt(plane.server, { ca, cert: certificate, key });
    try {
      // FakeCluster serves it from the start.
      const definition = readYamlFile('crds/multicluster.x-k8s.io_clusterprofiles.yaml');
      const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const { code } = await real.send({ method: 'POST', path: crds, body: definition as never });
      if (code !== 201) throw new Error(`the definition of ClusterProfiles was answered with ${code}`);
      return new Map([
        ['steps of scenarios', await compareScenarios([real, fake.side])],
        ['resources in discovery', await compareDiscovery(real, fake.side)],
      ]);
    } finally {
      await real.close();
    }
  } finally {
    await plane.close();
  }
}

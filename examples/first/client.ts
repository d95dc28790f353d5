// Lists the nodes of one cluster: a client for a ClusterProfile by its name.
import { CoreV1Api } from '@kubernetes/client-node';
import { CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import { getProfile } from 'clusterprofile-credentials/fleet';

const providers = CredentialProviders.fromFile('providers.yaml');
const profile = await getProfile(RestConfig.fromDefault(), 'fleet-system/spoke-1');
const nodes = await providers.getConfig(profile).makeApiClient(CoreV1Api).listNode();
console.log(nodes.items.map(({ metadata }) => metadata?.name));

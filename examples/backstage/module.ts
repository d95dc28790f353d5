// A module of Backstage's Kubernetes plugin: its clusters are those of a hub's ClusterProfiles. README.md says how to add it.
import { coreServices, createBackendModule } from '@backstage/backend-plugin-api';
import {
  kubernetesAuthStrategyExtensionPoint,
  kubernetesClusterSupplierExtensionPoint,
  kubernetesFetcherExtensionPoint,
} from '@backstage/plugin-kubernetes-node';
import { CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import { authProvider, ProfileClusters } from './profile-clusters.ts';

export default createBackendModule({
  pluginId: 'kubernetes',
  moduleId: 'clusterprofile',
  register(env) {
    env.registerInit({
      deps: {
        suppliers: kubernetesClusterSupplierExtensionPoint,
        strategies: kubernetesAuthStrategyExtensionPoint,
        fetchers: kubernetesFetcherExtensionPoint,
        config: coreServices.rootConfig,
        lifecycle: coreServices.lifecycle,
        logger: coreServices.logger,
      },
      async init({ suppliers, strategies, fetchers, config, lifecycle, logger }) {
        const options = { logger: { warn: (_fields: object, message: string) => logger.warn(message) } };
        const hub = RestConfig.fromDefault(options);
        const providers = CredentialProviders.fromFile(config.getString('clusterprofile.providerFile'), options);
        const clusters = new ProfileClusters(providers, logger);
        suppliers.addClusterSupplier(clusters);
        strategies.addAuthStrategy(authProvider, clusters);
        fetchers.addFetcher(async ({ getDefault }) => clusters.fetcher(await getDefault()));

        const namespaces = config.getOptionalStringArray('clusterprofile.namespaces');
        const stop = new AbortController();
        const followed = clusters
          .follow(hub, { ...options, ...(namespaces ? { namespaces } : {}), signal: stop.signal })
          .catch((error) => logger.error(`the ClusterProfiles of the hub are followed no longer: ${error}`));
        lifecycle.addShutdownHook(async () => {
          stop.abort();
          await followed;
          await providers.close();
          await hub.close();
        });
      },
    });
  },
});

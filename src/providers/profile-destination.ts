/** Turns a resolved access into a destination: where requests go, and the plugin call for their credential. */
import type { ConfiguredProvider } from '../access/provider.ts';
import type { ResolvedAccess } from '../access/resolve.ts';
import { pathBounds } from '../access/url-pattern.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import type { PluginCall } from '../exec/plugin-call.ts';
import type { Destination } from '../rest/transport/connection.ts';

/** `profile` is `namespace/name`; `configured` is the provider that the access was resolved with. */
export function toDestination(
  profile: string,
  access: ResolvedAccess,
  configured: ConfiguredProvider | undefined,
): Destination & { readonly call: PluginCall } {
  const { provider, cluster } = access;
  return {
    name: `ClusterProfile ${profile}`,
    profile,
    cluster,
    provider,
    call: toPluginCall(access, configured),
    pathBounds: pathBounds(configured?.allowedServers, cluster.server),
  };
}

function toPluginCall(
  { provider, cluster, exec }: ResolvedAccess,
  configuredProvider: ConfiguredProvider | undefined,
): PluginCall {
  const { acceptedVersions = [exec.apiVersion], execConfig: configured = exec } = configuredProvider ?? {};
  const execCluster = exec.provideClusterInfo ? toExecCluster(cluster, exec.config) : undefined;
  return { provider, origin: `access provider ${provider}`, exec, configured, acceptedVersions, cluster: execCluster };
}

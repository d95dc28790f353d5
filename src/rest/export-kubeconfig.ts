import type { ResolvedAccess } from '../access/resolve.ts';
import { toExecCluster } from '../exec/exec-credential.ts';

/** A kubeconfig for kubectl, as JSON. */
export function exportKubeconfig(name: string, { provider, cluster, exec }: ResolvedAccess): string {
  const { config, ...fields } = toExecCluster(cluster, exec.config);
  const extensions =
    exec.config === undefined ? {} : { extensions: [{ name: 'client.authentication.k8s.io/exec', extension: config }] };
  const { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode } = exec;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { ...fields, ...extensions } }],
    users: [
      {
        name: provider,
        user: { exec: { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode } },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: provider } }],
    'current-context': name,
  });
}

import { headerText } from '../access/header-value.ts';
import type { ResolvedAccess } from '../access/resolve.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import type { Impersonation } from './connection.ts';

/** A kubeconfig for kubectl, as JSON. */
export function exportKubeconfig(
  name: string,
  user: string,
  { cluster, exec }: ResolvedAccess,
  impersonation: Impersonation,
): string {
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
        name: user,
        user: {
          exec: { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode },
          ...impersonationFields(impersonation),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  });
}

/** The headers as a kubeconfig has them. */
function impersonationFields(impersonation: Impersonation): object {
  const headers: Impersonation = Object.fromEntries(
    Object.entries(impersonation).map(([name, values]) => [name, values.map(headerText)]),
  );
  const extra = Object.entries(headers).filter(([name]) => name.startsWith(extraPrefix));
  return {
    as: headers['impersonate-user']?.[0],
    'as-uid': headers['impersonate-uid']?.[0],
    'as-groups': headers['impersonate-group'],
    'as-user-extra':
      extra.length === 0
        ? undefined
        : Object.fromEntries(
            extra.map(([name, values]) => [decodeURIComponent(name.slice(extraPrefix.length)), values]),
          ),
  };
}

const extraPrefix = 'impersonate-extra-';

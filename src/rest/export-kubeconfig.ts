import { headerText } from '../access/header-value.ts';
import type { ImpersonationHeaders } from '../access/impersonation.ts';
import type { StaticUser } from '../access/kubeconfig-user.ts';
import type { ResolvedExec } from '../access/resolve.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import type { RestConfigParts } from './rest-config-parts.ts';

/** The paths of a credential that needs no plugin, named as in a kubeconfig. */
export function credentialFiles({ tokenFile, certificate, key }: StaticUser): Readonly<Record<string, string>> {
  return {
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(certificate && 'file' in certificate ? { 'client-certificate': certificate.file } : {}),
    ...(key && 'file' in key ? { 'client-key': key.file } : {}),
  };
}

/** A kubeconfig for kubectl, as JSON. */
export function exportKubeconfig({
  name,
  user,
  namespace,
  access,
  destination,
  credentialFiles,
}: RestConfigParts): string {
  const { cluster, exec } = access;
  const { config, ...fields } = toExecCluster(cluster, exec?.config);
  const extensions =
    exec?.config === undefined
      ? {}
      : { extensions: [{ name: 'client.authentication.k8s.io/exec', extension: config }] };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { ...fields, ...extensions } }],
    users: [
      {
        name: user,
        user: {
          ...(exec ? { exec: execFields(exec) } : {}),
          ...credentialFiles,
          ...impersonationFields(destination.impersonation),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user, namespace } }],
    'current-context': name,
  });
}

function execFields({
  apiVersion,
  command,
  args,
  env,
  provideClusterInfo,
  installHint,
  interactiveMode,
}: ResolvedExec) {
  return { apiVersion, command, args, env, provideClusterInfo, installHint, interactiveMode };
}

/** The headers as a kubeconfig has them. */
function impersonationFields(impersonation: ImpersonationHeaders = {}): object {
  const headers: ImpersonationHeaders = Object.fromEntries(
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

/** The KubeConfig that a caller gives comes in, a RestConfig goes out, whose connections notice a peer that has fallen silent. */
import { isAbsolute } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { ConfigurationError } from '../errors/index.ts';
import { reasonOf } from '../observability/callbacks.ts';
import type { Logger } from '../observability/logger.ts';
import { RestConfig } from '../rest/rest-config.ts';

/**
 * A `RestConfig` as it is; another `KubeConfig` of client-node converted, as it is now.
 *
 * @throws ConfigurationError (`OPTION_INVALID`) where client-node has not kept everything that the credential is made of.
 */
export function restConfigOf(given: KubeConfig, logger: Logger): RestConfig {
  if (given instanceof RestConfig) return given;
  try {
    return RestConfig.fromKubeConfig({ text: exported(given) }, { logger });
  } catch (error) {
    const advice = 'use RestConfig.fromDefault(), or RestConfig.fromKubeConfig({ path })';
    const message = `this KubeConfig cannot be converted into a RestConfig: ${advice}: ${reasonOf(error)}`;
    throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'hub', message }]);
  }
}

/** Its kubeconfig. client-node keeps neither the extensions of a cluster nor the folder of a plugin. */
function exported(given: KubeConfig): string {
  if (given.applySecurityAuthentication !== KubeConfig.prototype.applySecurityAuthentication)
    throw new Error('its class, or another copy of client-node, authenticates in a way of its own');
  const { exec, authProvider } = given.getCurrentUser() ?? {};
  if (exec?.provideClusterInfo)
    throw new Error('exec.provideClusterInfo is true, and the extensions of its cluster are lost');
  if (/\//.test(exec?.command) && !isAbsolute(exec.command))
    throw new Error('exec.command is a relative path, and the folder of its kubeconfig is lost');
  const kubeconfig = JSON.parse(given.exportConfig());
  // So client-node writes the service account of a pod.
  const tokenFile = authProvider?.name === 'tokenFile' ? authProvider.config?.tokenFile : undefined;
  if (tokenFile) kubeconfig.users = [{ name: given.getCurrentUser()?.name, user: { tokenFile } }];
  return JSON.stringify(kubeconfig);
}

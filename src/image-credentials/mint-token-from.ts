import type { KubeConfig, RequestContext, ResponseContext } from '@kubernetes/client-node';
import { z } from 'zod';
import { checkArgument } from '../errors/check-argument.ts';
import { parseOptionsWith } from '../options/option-schemas.ts';
import { isFunction, isObject } from '../util/guards.ts';
import type { MintToken } from './service-account-tokens.ts';

/** The shortest life that an API server accepts, in seconds. */
const leastSeconds = 600;
const seconds = { error: `must be a whole number of ${leastSeconds} or more` };
const optionsSchema = z.strictObject({ expirationSeconds: z.int(seconds).min(leastSeconds, seconds).optional() });

/**
 * A value for the option `mintToken`: asks a cluster's API server for a token of the service account (TokenRequest), as the kubelet
 * does. Refuses a token of another account that has the same name. Takes any client-node `KubeConfig`, a `RestConfig` too; its user
 * needs the verb "create" on serviceaccounts/token. `expirationSeconds` is how long tokens should live: 600 or more; the
 * server has its own default, and may give less.
 *
 * @example
 * const config = new KubeConfig();
 * config.loadFromCluster();
 * ImageCredentialProviders.fromConfigFile(path, { binDir, mintToken: mintTokenFrom(config) });
 */
export function mintTokenFrom(config: KubeConfig, options: { readonly expirationSeconds?: number } = {}): MintToken {
  const isKubeConfig = (value: unknown) => isObject(value) && isFunction(Reflect.get(value, 'makeApiClient'));
  checkArgument('mintTokenFrom', 'config', config, isKubeConfig, 'a KubeConfig');
  const { expirationSeconds } = parseOptionsWith(optionsSchema, options);
  return async ({ serviceAccount: { namespace, name, uid }, audience }, { signal }) => {
    // Loaded only when a token is minted.
    const { CoreV1Api, Observable } = await import('@kubernetes/client-node');
    const spec = { audiences: [audience], ...(expirationSeconds === undefined ? {} : { expirationSeconds }) };
    const body = { metadata: { namespace, name, uid }, spec };
    const pre = (context: RequestContext) => {
      context.setSignal(signal);
      return new Observable(Promise.resolve(context));
    };
    const post = (context: ResponseContext) => new Observable(Promise.resolve(context));
    const { status } = await config
      .makeApiClient(CoreV1Api)
      .createNamespacedServiceAccountToken(
        { namespace, name, body },
        { middleware: [{ pre, post }], middlewareMergeStrategy: 'append' },
      );
    return { token: status?.token ?? '', expirationTimestamp: status?.expirationTimestamp };
  };
}

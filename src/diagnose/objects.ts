/** Objects of one API server, with server-side apply; and the server of a kubeconfig's context. */
import type { KubeconfigAccess } from '../access/kubeconfig.ts';
import { ApiError } from '../errors/index.ts';
import { ApiServer } from '../rest/api/api-server.ts';
import { Discovery } from '../rest/api/discovery.ts';
import { ResourceClient } from '../rest/api/resource-client.ts';
import type { ResourceOptions } from '../rest/api/resource-options.ts';
import { parseKubeconfigOptions, toParts } from '../rest/from-kubeconfig.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import { systemTimers } from '../util/abortable.ts';
import { ApiClient } from './api-client.ts';

/** The longest answer in bytes: of single objects. */
const maxResponseBytes = 16 * 1024 * 1024;

/** Objects of a kind on this server. */
export type Api = (options: Omit<ResourceOptions, 'fieldValidation'>) => ResourceClient;

export function apiOf({ config }: ApiClient): Api {
  const server = new ApiServer(config);
  const parts = {
    basePath: new URL(server.url).pathname.replace(/\/+$/, ''),
    dispatcher: config.dispatcher as AuthenticatedDispatcher, // every config's
    discovery: new Discovery(server, systemTimers),
    maxResponseBytes,
  };
  return (options) => new ResourceClient(parts, { ...options, fieldValidation: 'Strict' });
}

/** The status with which an API server refused. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ApiError ? error.statusCode : undefined;
}

/** Calls `work` with the server of a context, and closes its connections. */
export async function withContext<T>(access: KubeconfigAccess, work: (client: ApiClient) => Promise<T>): Promise<T> {
  const { connections, destination, stop } = toParts(access, parseKubeconfigOptions({ logger: { warn: () => {} } }));
  const dispatcher = new AuthenticatedDispatcher(connections, destination);
  try {
    return await work(new ApiClient(dispatcher, destination));
  } finally {
    await dispatcher.close();
    connections.retire(() => stop?.abort());
  }
}

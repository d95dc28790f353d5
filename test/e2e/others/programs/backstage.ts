// A Backstage backend with its Kubernetes plugin and examples/backstage/module.ts, without a database, users and permissions.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createSpecializedBackend } from '@backstage/backend-app-api';
import { coreServices, createServiceFactory, type LoggerService, type ServiceRef } from '@backstage/backend-plugin-api';
import { actionsRegistryServiceRef } from '@backstage/backend-plugin-api/alpha';
import { ConfigReader } from '@backstage/config';
import { catalogServiceRef } from '@backstage/plugin-catalog-node';
import kubernetesPlugin from '@backstage/plugin-kubernetes-backend';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import express from 'express';
import clusterProfileModule from '../../../../examples/backstage/module.ts';
import { serve } from './serve.ts';

const app = express();
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;

const said: string[] = [];
const write = (message: string) => void said.push(message);
const logger: LoggerService = { error: write, warn: write, info() {}, debug() {}, child: () => logger };
const entity = {
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name: 'demo', namespace: 'default' },
};
const credentials = { $$type: '@backstage/BackstageCredentials', principal: { type: 'none' } };
const lifecycle = {
  addStartupHook() {},
  addBeforeShutdownHook() {},
  addShutdownHook() {},
  async startup() {},
  async beforeShutdown() {},
  async shutdown() {},
};

/** A service for each plugin, or for all. */
function service(ref: ServiceRef<unknown, 'plugin'> | ServiceRef<unknown, 'root'>, value: unknown) {
  return ref.scope === 'root'
    ? createServiceFactory({ service: ref, deps: {}, factory: () => value })
    : createServiceFactory({ service: ref, deps: {}, factory: () => value });
}

const backend = createSpecializedBackend({
  defaultServiceFactories: [
    service(
      coreServices.rootConfig,
      new ConfigReader({
        kubernetes: {
          serviceLocatorMethod: { type: 'multiTenant' },
          clusterLocatorMethods: [],
          objectTypes: ['configmaps'],
        },
        clusterprofile: { providerFile: process.env.PROVIDER_FILE ?? '', namespaces: ['default'] },
      }),
    ),
    service(coreServices.rootLogger, logger),
    service(coreServices.logger, logger),
    service(coreServices.rootLifecycle, lifecycle),
    service(coreServices.lifecycle, lifecycle),
    service(coreServices.httpRouter, { use: (router: express.Handler) => app.use(router), addAuthPolicy() {} }),
    service(coreServices.discovery, { getBaseUrl: async () => url, getExternalBaseUrl: async () => url }),
    service(coreServices.permissions, { authorize: async () => [{ result: AuthorizeResult.ALLOW }] }),
    service(coreServices.permissionsRegistry, { addPermissions() {} }),
    service(coreServices.auth, { getOwnServiceCredentials: async () => credentials }),
    service(coreServices.httpAuth, { credentials: async () => credentials }),
    service(coreServices.auditor, { createEvent: async () => ({ success: async () => {}, fail: async () => {} }) }),
    service(catalogServiceRef, { getEntityByRef: async () => entity }),
    service(actionsRegistryServiceRef, { register() {} }),
  ],
});
backend.add(kubernetesPlugin.default);
backend.add(clusterProfileModule);
await backend.start();

const get = async (path: string, init?: RequestInit) => (await fetch(`${url}${path}`, init)).text();

await serve(async () => {
  const clusters: { readonly items: readonly { readonly name: string }[] } = JSON.parse(await get('/clusters'));
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ entity }) };
  const objects = JSON.parse(await get('/services/demo', init));
  const proxied = clusters.items.map(async ({ name }) => {
    const headers = { 'backstage-kubernetes-cluster': name };
    return JSON.parse(await get('/proxy/api/v1/namespaces', { headers })).kind;
  });
  return { clusters: clusters.items, objects, proxied: await Promise.all(proxied), said: said.splice(0) };
});

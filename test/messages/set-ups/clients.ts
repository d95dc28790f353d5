import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Exec } from '@kubernetes/client-node';
import { ImageCredentialProviders } from '../../../src/image-credentials/index.ts';
import type { RestConfig } from '../../../src/index.ts';
import { loadExecCredentialFromEnv } from '../../../src/plugin/index.ts';
import { startCluster } from '../../fixtures/fleet.ts';
import { endOfWatch } from '../../fixtures/requests.ts';
import { setEnvironment, temporaryFolder } from '../../fixtures/script.ts';
import { configWith, type SetUps } from '../set-up.ts';

const missing = { exec: { command: '/usr/bin/gke-auth' } };
/** A server that has gone. */
async function down(t: TestContext) {
  const cluster = await startCluster(t);
  await cluster.close();
  return configWith(t, { cluster: { server: cluster.url } });
}

const secrets = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' };

const exec = (config: RestConfig) => new Exec(config).exec('ns', 'pod', 'main', ['true'], null, null, null, false);

/** Clients beside the generated ones, and the other parts of the package. */
export const clients: SetUps = {
  'Watch: the plugin is missing': async (t) => Promise.reject(await endOfWatch(await configWith(t, missing))),
  'Exec: the plugin is missing': async (t) => exec(await configWith(t, missing)),
  'Exec: the server is down': async (t) => exec(await down(t)),
  'config.fetch: the server is down': async (t) => (await down(t)).fetch('/version'),
  'config.resource: the object is not there': async (t) => (await configWith(t)).resource(secrets).get('none'),
  'config.resource: the object is wrong': async (t) =>
    (await configWith(t)).resource(secrets).create({ metadata: { name: 'A b' } }),
  'config.resource: apply without a field manager': async (t) =>
    (await configWith(t)).resource(secrets).apply({ metadata: { name: 'a' } }),
  'config.resource: the server has no such kind': async (t) =>
    (await configWith(t)).resource({ apiVersion: 'v1', kind: 'Secrets' }).list(),
  'config.ready(): the plugin is missing': async (t) => (await configWith(t, missing)).ready(),
  'an older undici on config.dispatcher': async (t) => {
    const { dispatcher } = await configWith(t);
    // The types forbid it, and JavaScript does not.
    return new Promise((_, onError) => dispatcher.dispatch({ path: '/version', method: 'GET' }, Object({ onError })));
  },
  'a plugin that was started without KUBERNETES_EXEC_INFO': (t) => {
    setEnvironment(t, { KUBERNETES_EXEC_INFO: undefined });
    return loadExecCredentialFromEnv();
  },
  'image credentials: the configuration is not there': async (t) =>
    ImageCredentialProviders.fromConfigFile(join(await temporaryFolder(t), 'none.yaml'), { binDir: '/usr/libexec' }),
};

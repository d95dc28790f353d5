// Counts the nodes of every cluster, with an error for each that fails. Its exit code is for a nightly job.
import { CredentialProviders, RestConfig, stopSignal } from 'clusterprofile-credentials';
import { forEachCluster } from 'clusterprofile-credentials/fleet';

const hub = RestConfig.fromDefault();
const providers = CredentialProviders.fromFile('providers.yaml');
const results = await forEachCluster({ hub, providers, signal: stopSignal() }, async ({ config, signal }) => {
  return (await config.resource({ apiVersion: 'v1', kind: 'Node' }).list({ signal })).items.length;
});
for (const { name, value, error } of results) console.log(name, error ? String(error) : `${value} nodes`);
process.exitCode = results.some(({ error }) => error) ? 1 : 0;

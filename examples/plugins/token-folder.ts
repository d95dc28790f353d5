#!/usr/bin/env node
// A credential plugin in TypeScript: reads the token of the cluster that the profile's exec extension names
// (`clusterName`) from a folder with a file for each cluster. Needs provideClusterInfo: true.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCredentialPlugin } from 'clusterprofile-credentials/plugin';

const lifetimeMs = 10 * 60_000;

await runCredentialPlugin(async ({ spec }) => {
  const folder = process.env.TOKEN_FOLDER;
  if (!folder) throw new Error('set TOKEN_FOLDER to the folder that holds the tokens');
  const clusterName = nameIn(spec.cluster?.config);
  const token = (await readFile(join(folder, clusterName), 'utf8')).trim();
  return { token, expirationTimestamp: new Date(Date.now() + lifetimeMs) };
});

function nameIn(config: unknown): string {
  const name: unknown = typeof config === 'object' && config !== null ? Reflect.get(config, 'clusterName') : undefined;
  // Somebody else wrote the profile that has this name, so it must not lead out of the folder.
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
    throw new Error('the profile has no usable clusterName in its client.authentication.k8s.io/exec extension');
  }
  return name;
}

import assert from 'node:assert/strict';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import {
  type ClusterProfile,
  CredentialProviders,
  type CredentialProvidersOptions,
  type ProviderFileChange,
  type RestConfig,
} from '../../src/index.ts';
import { newNamespace, profileFor, startCluster, startPlugin } from '../fixtures/fleet.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const fileWith = (...providers: object[]) => JSON.stringify({ providers });

/** Providers from a watched file for one cluster. */
async function startWatched(t: TestContext, write?: (folder: string, content: string) => Promise<string>) {
  const cluster = await startCluster(t);
  const plugin = await startPlugin(t);
  const folder = await temporaryFolder(t);
  const provider = { name: 'fake', execConfig: { apiVersion, command: plugin.command } };
  const other = { name: 'other', execConfig: { apiVersion, command: plugin.command, args: ['other'] } };
  const content = fileWith(provider, other);
  const plain = async () => {
    await writeFile(join(folder, 'providers.json'), content);
    return join(folder, 'providers.json');
  };
  const path = write ? await write(folder, content) : await plain();
  const watched = watch(t, (options) => CredentialProviders.fromFile(path, options));
  const profile = profileFor(cluster);
  const { accessProviders: [entry] = [] } = profile.status ?? {};
  const otherProfile: ClusterProfile = { status: { accessProviders: [{ ...entry, name: 'other' }] } };
  const list = (config: RestConfig) => config.makeApiClient(CoreV1Api).listNamespace();
  return { ...watched, cluster, plugin, folder, path, provider, other, profile, otherProfile, list };
}

/** `next` waits for the next change of the file, `warned` for the next warning. */
function watch(t: TestContext, create: (options: CredentialProvidersOptions) => CredentialProviders) {
  let warn: (message: string) => void = () => {};
  const providers = create({ watchProviderFile: true, logger: { warn: (_fields, message) => warn(message) } });
  t.after(() => providers.close());
  const next = () => new Promise<ProviderFileChange>((resolve) => providers.onChange(resolve));
  const warned = () =>
    new Promise<string>((resolve) => {
      warn = resolve;
    });
  return { providers, next, warned };
}

// They wait for looks at a file, a second each: side by side.
describe('a watched provider file', { concurrency: true }, () => {
  test('that is edited in place takes effect for the next getConfig, and ends the configs of changed providers', async (t) => {
    const { path, provider, other, providers, profile, otherProfile, plugin, next, list, cluster } =
      await startWatched(t);
    const [changed, untouched] = [providers.getConfig(profile), providers.getConfig(otherProfile)];
    await list(changed);
    await list(untouched);
    assert.equal(await plugin.runs(), 2);
    const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: changed.dispatcher });
    const change = next();
    await writeFile(path, fileWith({ ...provider, execConfig: { ...provider.execConfig, args: ['new'] } }, other));
    assert.deepEqual(await change, { added: [], changed: ['fake'], removed: [] });
    await assert.rejects(changed.ready(), { code: 'PROVIDER_CHANGED', message: /call getConfig again/ });
    await assert.rejects(list(changed), { code: 'PROVIDER_CHANGED' });
    // A stream that was open goes on.
    cluster.add(newNamespace('still-there'));
    for await (const chunk of watch.body) if (String(chunk).includes('still-there')) break;
    await list(untouched);
    assert.equal(await plugin.runs(), 2);
    await list(providers.getConfig(profile));
    assert.deepEqual(await plugin.lastArgs(), ['new']);
  });

  test('whose old connections still have streams open leaves none of them to close() of the providers', async (t) => {
    const { path, other, providers, profile, next, cluster } = await startWatched(t);
    const config = providers.getConfig(profile);
    const watch = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
    const change = next();
    await writeFile(path, fileWith(other));
    assert.deepEqual((await change).removed, ['fake']);
    const ended = assert.rejects(watch.body.text());
    await providers.close();
    await ended;
    await until(t, () => cluster.stats.openConnections <= 0);
  });

  test('that is replaced by rename is read, and says what was added and removed', async (t) => {
    const { path, provider, other, providers, profile, otherProfile, next } = await startWatched(t);
    const removed = providers.getConfig(otherProfile);
    const change = next();
    await writeFile(`${path}.new`, fileWith({ ...other, name: 'third' }, provider));
    await rename(`${path}.new`, path);
    assert.deepEqual(await change, { added: ['third'], changed: [], removed: ['other'] });
    assert.deepEqual(providers.accessTypes, ['third', 'fake']);
    await assert.rejects(removed.ready(), { code: 'PROVIDER_CHANGED' });
    assert.throws(() => providers.getConfig(otherProfile), { code: 'NO_MATCHING_PROVIDER' });
    providers.getConfig(profile);
  });

  test("in a ConfigMap's mount is read when the symbolic link above it is swapped", async (t) => {
    const mount = async (folder: string, content: string) => {
      await mkdir(join(folder, '..2026_01'));
      await writeFile(join(folder, '..2026_01/providers.yaml'), content);
      await symlink('..2026_01', join(folder, '..data'));
      await symlink('..data/providers.yaml', join(folder, 'providers.yaml'));
      return join(folder, 'providers.yaml');
    };
    const { folder, provider, next, providers } = await startWatched(t, mount);
    const change = next();
    await mkdir(join(folder, '..2026_02'));
    await writeFile(join(folder, '..2026_02/providers.yaml'), fileWith(provider));
    await symlink('..2026_02', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await rm(join(folder, '..2026_01'), { recursive: true });
    assert.deepEqual((await change).removed, ['other']);
    assert.deepEqual(providers.accessTypes, ['fake']);
  });

  test('that is invalid is reported, and the previous providers stay in use', async (t) => {
    const { path, providers, profile, warned, list } = await startWatched(t);
    const config = providers.getConfig(profile);
    const warning = warned();
    await writeFile(path, '{"providers": [{"name": 5}]}');
    assert.match(await warning, /providers\[0\]\.name: must be .*; the previous providers stay in use$/s);
    await list(config);
  });

  test('that is gone is reported, and taken again when it is back', async (t) => {
    const { path, provider, providers, profile, next, warned, list } = await startWatched(t);
    const config = providers.getConfig(profile);
    const warning = warned();
    await rm(path);
    assert.match(await warning, /does not exist: .*; the previous providers stay in use$/s);
    await list(providers.getConfig(profile));
    const change = next();
    await writeFile(path, fileWith(provider));
    assert.deepEqual((await change).removed, ['other']);
    await list(config);
  });

  test('may stand beside flags: a type that both configure is reported', async (t) => {
    const { path, provider } = await startWatched(t);
    const args = ['--clusterprofile-access-provider=flag=/bin/true', `--clusterprofile-provider-file=${path}`];
    const argv = [...args, '--clusterprofile-watch-provider-file'];
    const { providers, next, warned } = watch(t, ({ logger }) =>
      CredentialProviders.fromArgs(argv, logger ? { logger } : {}),
    );
    const warning = warned();
    await writeFile(path, fileWith({ ...provider, name: 'flag' }));
    assert.match(await warning, /"flag" is configured in .* too/);
    assert.deepEqual(providers.accessTypes, ['flag', 'fake', 'other']);
    const change = next();
    await writeFile(path, fileWith(provider));
    assert.deepEqual(await change, { added: [], changed: [], removed: ['other'] });
    assert.deepEqual(providers.accessTypes, ['flag', 'fake']);
  });

  test('needs a file: anything else is an error at construction', () => {
    const watchProviderFile = true;
    for (const make of [
      () => new CredentialProviders([], { watchProviderFile }),
      () => CredentialProviders.fromArgs(['--clusterprofile-watch-provider-file']),
    ]) {
      assert.throws(make, { name: 'ConfigurationError', message: /watch/i });
    }
  });
});

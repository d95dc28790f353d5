import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { startCluster, startPlugin } from '../fixtures/fleet.ts';
import { clusterOf, kubeconfig, load, namespaces } from '../fixtures/kubeconfigs.ts';
import { writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

describe('what stands beside exec (A.7, B.17)', () => {
  const token = (user: object) => ({ user, exec: { command: '/never/run' } });

  test('a certificate with its key does; its files are read again', async (t) => {
    const cluster = await startCluster(t);
    const folder = await temporaryFolder(t);
    const write = async (commonName: string) => {
      const pair = cluster.certificateAuthority.issue({ commonName, client: true });
      await writeFile(join(folder, 'cert'), pair.certificate);
      await writeFile(join(folder, 'key'), pair.key);
    };
    await write('one');
    const clock = { now: 0 };
    const files = { 'client-certificate': join(folder, 'cert'), 'client-key': join(folder, 'key') };
    const text = kubeconfig({ cluster: clusterOf(cluster), ...token(files) });
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const rotating = load(t, text, { clock: () => clock.now, logger });
    await namespaces(rotating);
    await write('two');
    await namespaces(rotating);
    assert.equal(cluster.stats.byIdentity.get('one'), 2);
    clock.now += 60_001;
    await until(t, async () => {
      await namespaces(rotating);
      return cluster.stats.byIdentity.has('two');
    });
    await rm(join(folder, 'key'));
    clock.now += 60_001;
    await until(t, async () => {
      await namespaces(rotating);
      return warnings.length > 0;
    });
    const kept = /the old credential stays in use: kubeconfig, user bob: client-key: .* cannot be read \(ENOENT\): /;
    assert.match(warnings[0] ?? '', kept);
  });

  test('whose file could not be read is read again at once after a 401', async (t) => {
    const cluster = await startCluster(t, { tokens: { old: 'me' } });
    const tokenFile = await writeInput(t, 'token', 'old');
    const seen = { now: 0, warnings: 0 };
    const logger = { warn: () => void seen.warnings++ };
    const parts = { cluster: clusterOf(cluster), ...token({ tokenFile }) };
    const config = load(t, parts, { clock: () => seen.now, logger });
    await config.ready();
    await writeFile(tokenFile, '');
    seen.now += 60_001;
    await config.ready();
    await until(t, () => seen.warnings > 0);
    await writeFile(tokenFile, 'new');
    cluster.setTokens({ new: 'me' });
    await namespaces(config);
  });

  test('whose file fails while nobody waits for it, and has been forgotten meanwhile, ends no process', async (t) => {
    const cluster = await startCluster(t, { tokens: { good: 'me' } });
    const tokenFile = await writeInput(t, 'token', 'good');
    const clock = { now: 0 };
    const parts = { cluster: clusterOf(cluster), ...token({ tokenFile }) };
    const config = load(t, parts, { clock: () => clock.now });
    await config.ready();
    await rm(tokenFile);
    clock.now += 60_001;
    // The old one is given at once, and the file is read behind it.
    await config.ready();
    config.invalidate();
    // By the time that twenty others have failed, that one has.
    for (let i = 0; i < 20; i++) await assert.rejects(readFile(tokenFile));
    await assert.rejects(config.ready(), /cannot be read \(ENOENT\)/);
  });

  test('a password alone, or a key alone, does not', async (t) => {
    const cluster = await startCluster(t);
    const plugin = await startPlugin(t);
    for (const user of [{ password: 'p' }, { 'client-key': '/nowhere' }]) {
      const before = await plugin.runs();
      await namespaces(load(t, { cluster: clusterOf(cluster), user, exec: { command: plugin.command } }));
      assert.equal(await plugin.runs(), before + 1);
    }
  });

  test('a 401 to a static credential starts nothing', async (t) => {
    const cluster = await startCluster(t);
    const config = load(t, { cluster: clusterOf(cluster), ...token({ token: 'refused' }) });
    await assert.rejects(namespaces(config), { code: 401 });
    assert.equal(cluster.stats.requests, 1);
  });

  test('a pair that does not fit rejects the request, and says so', async (t) => {
    const authority = createCertificateAuthority();
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const pair = {
      'client-certificate-data': base64(authority.issue({ commonName: 'a' }).certificate),
      'client-key-data': base64(authority.issue({ commonName: 'b' }).key),
    };
    const message = /client-certificate: it has a client key that does not fit its certificate/;
    await assert.rejects(load(t, token(pair)).ready(), { name: 'ConfigurationError', message });
  });
});

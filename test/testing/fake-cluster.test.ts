import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { Agent, fetch } from 'undici';
import { createCertificateAuthority, FakeCluster, writePlugin } from '../../src/testing/index.ts';

describe('FakeCluster', () => {
  test('believes a certificate of its own authority before a token, and neither of others', async (t) => {
    await using cluster = await FakeCluster.start({ tokens: { good: 'by-token' } });
    const send = async (token: string, authority = cluster.certificateAuthority, client = false) => {
      const pair = authority.issue({ commonName: 'by-certificate', client: true });
      const identity = client ? { cert: pair.certificate, key: pair.key } : {};
      const agent = new Agent({ connect: { ca: cluster.certificateAuthority.certificate, ...identity } });
      t.after(() => agent.close());
      const response = await fetch(`${cluster.url}/version`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
      });
      await response.arrayBuffer();
      return response.status;
    };
    assert.equal(await send('good'), 200);
    assert.equal(await send('bad'), 401);
    assert.equal(await send('good', cluster.certificateAuthority, true), 200);
    assert.equal(await send('bad', createCertificateAuthority(), true), 401);
    assert.deepEqual(
      [...cluster.stats.byIdentity],
      [
        ['by-token', 1],
        ['by-certificate', 1],
      ],
    );
    assert.equal(cluster.stats.unauthorized, 2);
  });

  test('fails as it is told, and restarts on its port', async (t) => {
    await using cluster = await FakeCluster.start({ tokens: { good: 'me' } });
    // A connection for each request: one that the restart broke must not be used again.
    const get = async (path: string) => {
      const agent = new Agent({ connect: { ca: cluster.certificateAuthority.certificate } });
      t.after(() => agent.destroy());
      return fetch(`${cluster.url}${path}`, { dispatcher: agent, headers: { authorization: 'Bearer good' } });
    };
    cluster.failNext(503);
    assert.equal((await get('/readyz')).status, 503);
    cluster.failNext('reset');
    await assert.rejects(get('/readyz'));
    const { url } = cluster;
    await cluster.restart();
    assert.equal(cluster.url, url);
    assert.equal(await (await get('/readyz')).text(), 'ok');
    assert.equal((await get('/nothing')).status, 404);
    assert.equal((await get('//[')).status, 404);
  });
});

describe('createCertificateAuthority', () => {
  test('issues certificates for names and addresses, for a time, that its own certificate verifies', () => {
    const authority = createCertificateAuthority('ca');
    const notAfter = new Date(Date.UTC(2060, 0));
    const { certificate } = authority.issue({
      commonName: 'x',
      organizations: ['o'],
      dnsNames: ['a.b'],
      ipAddresses: ['127.0.0.1', '::1'],
      notAfter,
    });
    const leaf = new X509Certificate(certificate);
    const root = new X509Certificate(authority.certificate);
    assert.ok(root.ca && !leaf.ca && leaf.verify(root.publicKey) && leaf.checkIssued(root));
    assert.equal(leaf.checkHost('a.b'), 'a.b');
    assert.equal(leaf.checkIP('127.0.0.1'), '127.0.0.1');
    assert.equal(leaf.validToDate.getTime(), notAfter.getTime());
    assert.equal(leaf.subject, 'O=o\nCN=x');
  });
});

describe('writePlugin', () => {
  test('counts concurrent runs, keeps arguments and environment, and has no token in its script', async () => {
    await using plugin = await writePlugin({ token: 'SECRET', stderr: 'hello', exitCode: 0 });
    const args = ['a b', 'line\nbreak', ''];
    await Promise.all(
      Array.from({ length: 10 }, () => execa(plugin.command, args, { env: { KUBERNETES_EXEC_INFO: '{"a":1}' } })),
    );
    assert.equal(await plugin.runs(), 10);
    assert.deepEqual(await plugin.lastArgs(), args);
    assert.deepEqual(await plugin.lastInput(), { a: 1 });
    assert.ok(!(await readFile(plugin.command, 'utf8')).includes('SECRET'));
    const { stdout, stderr } = await execa(plugin.command);
    assert.deepEqual([JSON.parse(stdout).status, stderr], [{ token: 'SECRET' }, 'hello']);
  });
});

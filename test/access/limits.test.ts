import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/access/json.ts';
import { caData } from '../fixtures/ca.ts';
import { execExtension, refused, resolveCluster, server, withExtension } from '../fixtures/resolving.ts';

describe('a profile may say', () => {
  test('256 KiB in all extensions of a cluster together, those that are ignored too', () => {
    const text = 'x'.repeat(130_000);
    const three = ['a', 'b', 'c'].map((name) => ({ name, extension: { text } }));
    const error = refused({ server, extensions: three }, 'PROFILE_TOO_LARGE', '.extensions');
    assert.match(error.message, /are more than 262144 bytes of JSON together: publish less/);
    assert.equal(resolveCluster({ server, extensions: three.slice(1) }).ignored.length, 2);
    refused(withExtension(execExtension, 'é'.repeat(140_000)), 'PROFILE_TOO_LARGE', '.extensions');
    refused(withExtension(execExtension, { ['k'.repeat(262_144)]: 1 }), 'PROFILE_TOO_LARGE', '.extensions');
    refused(withExtension(execExtension, new Array(200_000).fill(1)), 'PROFILE_TOO_LARGE', '.extensions');
  });

  test('no more below any depth: what nests deeper is refused, not left uncounted', () => {
    const nest = (depth: number, leaf: Json): Json => (depth === 0 ? leaf : { a: nest(depth - 1, leaf) });
    const text = 'x'.repeat(300_000);
    for (const name of [execExtension, 'other']) {
      for (const depth of [0, 1, 250, 254, 255, 256, 257, 300, 2_000]) {
        refused(withExtension(name, nest(depth, text)), 'PROFILE_TOO_LARGE', '.extensions');
      }
      const holdsItself: { a?: Json } = {};
      holdsItself.a = [holdsItself, holdsItself];
      refused(withExtension(name, holdsItself), 'PROFILE_TOO_LARGE', '.extensions');
      assert.ok(resolveCluster(withExtension(name, nest(250, 'x'))));
    }
  });

  test('a URL of 4 KiB and a host name of 253 bytes', () => {
    const path = 'p'.repeat(4_096);
    refused({ server: `${server}/${path}` }, 'PROFILE_TOO_LARGE', '.server');
    refused({ server, 'proxy-url': `http://p/${path}` }, 'PROFILE_TOO_LARGE', '.proxy-url');
    refused({ server, 'tls-server-name': 'n'.repeat(254) }, 'PROFILE_TOO_LARGE', '.tls-server-name');
    // 1 MB of slashes, each the beginning of what could have been the end, took minutes.
    refused({ server: `${server}${'/'.repeat(1_000_000)}x` }, 'PROFILE_TOO_LARGE', '.server');
    assert.equal(resolveCluster({ server: `${server}${'/'.repeat(4_000)}` }).cluster.server, server);
  });

  test('500 certificates', () => {
    const pem = Buffer.from(caData, 'base64').toString();
    const bundle = (count: number) => Buffer.from(pem.repeat(count)).toString('base64');
    assert.ok(resolveCluster({ server, 'certificate-authority-data': bundle(500) }));
    const cluster = { server, 'certificate-authority-data': bundle(501) };
    const error = refused(cluster, 'CA_INVALID', '.certificate-authority-data');
    assert.match(error.message, /holds more than 500 certificates: keep those that sign the server's own, 500 at most/);
  });

  test('100 things that are not applied, one by one; the rest are counted', () => {
    const extensions = Array.from({ length: 900 }, (_, index) => ({ name: `n-${index}`, extension: 1 }));
    const { ignored } = resolveCluster({ server, extensions });
    assert.equal(ignored.length, 101);
    assert.deepEqual(ignored.at(-1), { path: 'status', reason: '800 more things are not applied' });
  });
});

test('certificates are read once, whether they are good or bad: a controller resolves the same profile again and again', () => {
  const pem = Buffer.from(caData, 'base64').toString();
  const bad = '-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n';
  const milliseconds = (data: string) => {
    const began = performance.now();
    try {
      resolveCluster({ server, 'certificate-authority-data': data });
    } catch {
      // It is the time that counts.
    }
    return performance.now() - began;
  };
  for (const end of ['# good', bad]) {
    const data = Buffer.from(`${pem.repeat(400)}${end}`).toString('base64');
    const first = milliseconds(data);
    const later = Math.min(...Array.from({ length: 10 }, () => milliseconds(`${data}\n`)));
    assert.ok(later < first / 2, `${first} ms, later ${later} ms`);
  }
});

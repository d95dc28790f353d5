// UPLOAD_SECONDS=600 runs it for ten minutes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CoreV1Api, makeInformer } from '@kubernetes/client-node';
import { request } from 'undici';
import { lifetimeOf } from './fixture.ts';
import { configFor, kinds, startSpoke } from './spoke.ts';

const seconds = Number(process.env.UPLOAD_SECONDS ?? 20);
const path = '/api/v1/namespaces/default/configmaps';

const configMap = (name: string, bytes: number) =>
  Buffer.from(JSON.stringify({ metadata: { name }, data: { a: 'x'.repeat(bytes) } }));

describe('uploads to a real API server that end early', () => {
  test('lose no other request, execute none twice, and end no informer', async (t) => {
    const life = lifetimeOf(t);
    const { plane, plugin } = await startSpoke(life, 'uploads', kinds.token, ['--goaway-chance=0.02']);
    const config = configFor(life, plane, { command: plugin.command });
    const core = config.makeApiClient(CoreV1Api);
    const seen = new Set<string>();
    const failures: unknown[] = [];
    const list = () => core.listNamespacedConfigMap({ namespace: 'default' });
    const informer = makeInformer(config, path, list);
    informer.on('add', ({ metadata }) => seen.add(metadata?.name ?? ''));
    informer.on('error', (error) => failures.push(error));
    await informer.start();
    life.after(() => informer.stop());
    const send = async (body: Buffer, query = '', options: Partial<Parameters<typeof request>[1]> = {}) => {
      const headers = { 'content-type': 'application/json', ...Object(options).headers };
      const url = `${plane.server}${path}${query}`;
      const answer = await request(url, { dispatcher: config.dispatcher, method: 'POST', body, ...options, headers });
      await answer.body.dump();
      return answer.statusCode;
    };
    const until = performance.now() + seconds * 1_000;
    const counts = { '413': 0, '403': 0, aborted: 0, accepted: 0, small: 0 };
    const often = async (count: keyof typeof counts, one: (index: number) => Promise<void>) => {
      while (performance.now() < until && failures.length === 0) {
        await one(counts[count]).catch((error: unknown) => failures.push(error));
        counts[count] += 1;
      }
    };
    const [huge, large] = [configMap('huge', 5_000_000), configMap('large', 1_000_000)];
    const forbidden = { headers: { 'impersonate-user': 'nobody' } };
    await Promise.all([
      often('413', async () => assert.equal(await send(huge), 413)),
      often('403', async () => assert.equal(await send(configMap('forbidden', 1_400_000), '', forbidden), 403)),
      often('aborted', async () => {
        const signal = AbortSignal.timeout(10);
        await assert.rejects(send(configMap('aborted', 2_900_000), '?dryRun=All', { signal }), {
          name: 'TimeoutError',
        });
      }),
      // A dry run: etcd would keep all of them.
      often('accepted', async () => assert.equal(await send(large, '?dryRun=All'), 201)),
      // One that is sent twice is a conflict.
      often('small', async (index) => assert.equal(await send(configMap(`small-${index}`, 10)), 201)),
    ]);
    assert.deepEqual(failures, []);
    for (const [what, count] of Object.entries(counts)) assert.ok(count > 3, `${count} times ${what}`);
    const names = (await list()).items.map(({ metadata }) => metadata?.name ?? '');
    assert.equal(names.filter((name) => name.startsWith('small-')).length, counts.small);
    while (!names.every((name) => seen.has(name))) await pause(20);
    t.diagnostic(`${seconds} s: ${JSON.stringify(counts)}; none lost, none doubled, and the informer saw all`);
  });
});

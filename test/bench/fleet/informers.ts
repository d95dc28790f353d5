// npm run bench -- informers: list, cache and watch ConfigMaps of a real API server, ours beside client-node's informer and client-go's, each in a process of its own.
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { writePlugin } from '../../../src/testing/index.ts';
import { startControlPlane } from '../../e2e/control-plane.ts';
import { kubeconfigText, serviceAccount } from '../../e2e/fixture.ts';
import { buildAccess, CannotBuild, findPrograms } from '../../e2e/go-programs.ts';
import { ourDispatcher } from '../peers.ts';
import { heading, median, report } from '../report.ts';
import {
  type RunningInformer,
  type Synced,
  startGoInformer,
  startNodeInformer,
  type Target,
} from './informer-peers.ts';

const objects = 20_000;
const updates = 5_000;
const rounds = 3;
const writers = 16;
const namespace = 'bench';

/** 1,024 characters that gzip makes a quarter of. */
function text(seed: string): string {
  const hash = createHash('sha512').update(seed).digest('hex');
  return Array.from({ length: 32 }, (_, line) => `setting.number.${line}: ${hash.slice(line * 4, line * 4 + 12)}\n`)
    .join('')
    .padEnd(1_024, '# nothing more')
    .slice(0, 1_024);
}

/** @throws {CannotBuild} if Go is missing */
async function benchInformers(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-fleet-'));
  const program = join(folder, 'informer');
  await buildAccess('./informer', program);
  const plane = await startControlPlane(await findPrograms(console.log), 'bench');
  const account = await serviceAccount(plane, 'bench');
  const plugin = await writePlugin({ token: await account.mint() });
  const { server, certificateAuthorityData } = plane;
  const { dispatcher, close } = ourDispatcher(plane, plugin);
  try {
    const send = async (method: 'POST' | 'PUT', path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const response = await request(`${server}${path}`, { method, dispatcher, headers, body: JSON.stringify(body) });
      if (response.statusCode >= 300)
        throw new Error(`${method} ${path}: ${response.statusCode} ${await response.body.text()}`);
      await response.body.dump();
    };
    const each = async (count: number, work: (index: number) => Promise<void>) => {
      let index = 0;
      const worker = async () => {
        while (index < count) await work(index++);
      };
      await Promise.all(Array.from({ length: writers }, worker));
    };
    const mapOf = (index: number, v: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `map-${index}` },
      data: { v },
    });
    await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await each(objects, (index) => send('POST', path, mapOf(index, text(`${index}`))));

    // A token lives for ten minutes, and a busy machine takes some of them for the objects.
    const token = await account.mint();
    await plugin.answer({ token });
    const target: Target = { server, certificateAuthorityData, command: plugin.command, token, namespace };
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigText(target, { token }));
    const start: Readonly<Record<string, () => RunningInformer>> = {
      'client-go, JSON': () => startGoInformer(program, kubeconfig, namespace, 'json'),
      'client-go, protobuf': () => startGoInformer(program, kubeconfig, namespace, 'protobuf'),
      'client-node': () => startNodeInformer('client-node', target),
      ours: () => startNodeInformer('ours', target),
      'client-go, metadata (protobuf)': () => startGoInformer(program, kubeconfig, namespace, 'metadata'),
      'ours, metadata': () => startNodeInformer('ours, metadata', target),
    };
    heading(`${objects} ConfigMaps of 1 KiB listed and cached`);
    const lists = new Map<string, Synced[]>();
    for (let round = 0; round < rounds; round++) {
      for (const [name, begin] of Object.entries(start)) {
        const informer = begin();
        lists.set(name, [...(lists.get(name) ?? []), await informer.synced]);
        await informer.close();
      }
    }
    const peer = 'client-go, JSON';
    for (const [what, unit, of] of [
      ['time', 's', ({ seconds }: Synced) => seconds],
      ['CPU', 's', ({ cpu }: Synced) => cpu],
      ['peak memory', 'MB', ({ peak }: Synced) => peak],
      ['peak memory beyond that before the list', 'MB', ({ peak, start }: Synced) => peak - start],
      ['heap for each object', 'bytes', ({ heap }: Synced) => heap],
    ] as const) {
      const floor = median((lists.get(peer) ?? []).map(of));
      for (const [name, list] of lists) {
        const value = median(list.map(of));
        report(`${name}: ${what}`, value, unit, { ratio: value / floor, peer });
      }
    }

    heading(`${updates} updates as fast as the server takes them`);
    const running = Object.entries(start).map(([name, begin]) => ({ name, informer: begin() }));
    for (const { informer } of running) await informer.synced;
    for (const { informer } of running) await informer.reset();
    await each(updates, (index) => send('PUT', `${path}/map-${index}`, mapOf(index, text(`changed ${index}`))));
    let floor = Number.NaN;
    for (const { name, informer } of running) {
      let counted = await informer.count();
      for (let tries = 0; counted.events < updates && tries < 200; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        counted = await informer.count();
      }
      const value = (counted.cpu * 1e6) / counted.events;
      if (name === peer) floor = value;
      report(`${name}: CPU for each event`, value, 'us', { ratio: value / floor, peer });
      report(`${name}: updates missed`, updates - counted.events, '');
      await informer.close();
    }
  } finally {
    await close();
    await plane.close();
    await plugin.remove();
    await rm(folder, { recursive: true, force: true });
  }
}

await benchInformers().catch((error: unknown) => {
  if (!(error instanceof CannotBuild)) throw error;
  console.error(`nothing can be measured: ${error.message}`);
});

// What profiles, credential sources and runs of plugins cost.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { inspect } from 'node:util';
import { runPlugin } from '../../src/exec/plugin.ts';
import { type ClusterProfile, CredentialProviders } from '../../src/index.ts';
import type { TestPlugin } from '../../src/testing/index.ts';
import { call, optionsFor } from '../fixtures/plugin-call.ts';
import { heading, median, report, time } from './report.ts';

function profileOf(index: number): ClusterProfile {
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { clusterName: `spoke-${index}` } }];
  const cluster = { server: `https://spoke-${index}.example.dev`, extensions };
  return {
    metadata: { name: `spoke-${index}`, namespace: 'fleet' },
    status: { accessProviders: [{ name: 'x', cluster }] },
  };
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

export async function resolving({ command }: TestPlugin): Promise<void> {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command, provideClusterInfo: true } as const;
  const providers = new CredentialProviders([{ name: 'x', execConfig }]);
  const profiles = Array.from({ length: 10_000 }, (_, index) => profileOf(index));
  heading('(c) 10,000 distinct profiles');
  for (const method of ['resolve', 'getConfig'] as const) {
    const each = Array.from({ length: 5 }, () => {
      const began = performance.now();
      for (const profile of profiles) providers[method](profile);
      return ((performance.now() - began) / profiles.length) * 1000;
    });
    report(`${method}, per profile`, median(each), 'us');
  }
  const before = heapUsed();
  const configs = profiles.map((profile) => providers.getConfig(profile));
  report('heap of an idle config', (heapUsed() - before) / configs.length, 'bytes');

  heading('(d) getConfig 100,000 times for one profile');
  const [profile] = profiles;
  if (!profile || configs.length === 0) return;
  for (let i = 0; i < 20_000; i++) providers.getConfig(profile);
  const flat = heapUsed();
  const ms = await time(async () => {
    for (let i = 0; i < 100_000; i++) {
      const config = providers.getConfig(profile);
      // The reconciles of a controller take their lease; none of them gives it back.
      if (i % 100 === 0) await config.ready();
    }
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  report('getConfig, per call', (ms / 100_000) * 1000, 'us');
  report('heap grown by', heapUsed() - flat, 'bytes');
  const [, connections = '?', sources = '?'] = /connections: (\d+), sources: (\d+)/.exec(inspect(providers)) ?? [];
  report('connections kept', Number(connections), '');
  report('credential sources kept', Number(sources), '');
  await providers.close();
}

export async function pluginRuns({ command }: TestPlugin): Promise<void> {
  heading('(e) plugin runs per second, 8 at once');
  const options = optionsFor(new AbortController().signal, { timeoutMs: 10_000, maxConcurrentRuns: 8 });
  const runners = {
    bare: async () => {
      const child = spawn(command, { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout.resume();
      child.stderr.resume();
      await once(child, 'close');
    },
    ours: () => runPlugin(call({ command }), options),
  };
  const rates = { bare: [] as number[], ours: [] as number[] };
  for (let round = 0; round < 5; round++) {
    for (const name of ['bare', 'ours'] as const) {
      let left = 160;
      const worker = async () => {
        while (left-- > 0) await runners[name]();
      };
      const ms = await time(() => Promise.all(Array.from({ length: 8 }, worker)));
      rates[name].push(160_000 / ms);
    }
  }
  report('bare child_process.spawn', median(rates.bare), 'runs/s');
  const ratio = median(rates.ours) / median(rates.bare);
  report('ours', median(rates.ours), 'runs/s', { ratio: ratio, peer: 'bare spawn' });
}

export async function coldStart({ command }: TestPlugin): Promise<void> {
  heading('(g) 10,000 cold sources at once');
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command, provideClusterInfo: true } as const;
  const providers = new CredentialProviders([{ name: 'x', execConfig }]);
  const before = heapUsed();
  let [heap, descriptors] = [0, 0];
  const timer = setInterval(() => {
    heap = Math.max(heap, process.memoryUsage().heapUsed - before);
    descriptors = Math.max(descriptors, readdirSync('/proc/self/fd').length);
  }, 20);
  const configs = Array.from({ length: 10_000 }, (_, index) => providers.getConfig(profileOf(index)));
  const ms = await time(() => Promise.all(configs.map((config) => config.ready())));
  clearInterval(timer);
  report('plugin runs', 10_000_000 / ms, 'runs/s');
  report('most heap, above that before', heap / 1024 / 1024, 'MiB');
  report('heap kept for each credential', (heapUsed() - before) / 10_000, 'bytes');
  report('most descriptors', descriptors, '');
  await providers.close();
}

// The image credentials' part of npm run bench.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseImageUrl } from '../../src/image-credentials/image-url.ts';
import { ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { createMatcher } from '../../src/image-credentials/match-image.ts';
import { heading, median, report, time } from './report.ts';

const v1 = 'credentialprovider.kubelet.k8s.io/v1';

async function withProviders(
  answer: object,
  use: (providers: ImageCredentialProviders, runs: () => Promise<number>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'image-bench-'));
  await mkdir(join(folder, 'bin'));
  const response = JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: v1, ...answer });
  await writeFile(join(folder, 'bin/p'), `#!/bin/sh\nprintf x >> '${folder}/runs'\nsleep 0.1\necho '${response}'\n`);
  await chmod(join(folder, 'bin/p'), 0o755);
  const provider = { name: 'p', matchImages: ['*.example.dev'], defaultCacheDuration: '10m', apiVersion: v1 };
  const config = { kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1', providers: [provider] };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  const providers = ImageCredentialProviders.fromConfigFile(join(folder, 'config.json'), {
    binDir: join(folder, 'bin'),
  });
  await use(providers, async () => (await readFile(join(folder, 'runs'), 'utf8').catch(() => '')).length);
  await providers.close();
  await rm(folder, { recursive: true });
}

export async function imageCredentials(): Promise<void> {
  heading('(i) image credentials');
  const matchers = Array.from({ length: 1_000 }, (_, index) =>
    createMatcher(`*.dkr.ecr.region-${index}.amazonaws.com/team`),
  );
  const image = parseImageUrl('123456.dkr.ecr.region-999.amazonaws.com/team/app');
  if ('problem' in image) throw new Error(image.problem);
  const rounds = Array.from({ length: 21 }, () => {
    const began = performance.now();
    for (let i = 0; i < 100; i++) if (!matchers.some((matches) => matches(image))) throw new Error('no match');
    return ((performance.now() - began) / 100) * 1_000;
  });
  report('an image against 1,000 patterns', median(rounds), 'us');

  const auth = { '*.example.dev': { username: 'u', password: 'p' } };
  const images = Array.from({ length: 10 }, (_, index) => `r${index % 3}.example.dev/app-${index}`);
  const pulls = Array.from({ length: 1_000 }, (_, index) => images[index % 10] ?? '');
  for (const [cacheKeyType, allowed] of [
    ['Image', 10],
    ['Registry', 3],
    ['Global', 1],
  ] as const) {
    await withProviders({ cacheKeyType, auth }, async (providers, runs) => {
      const all = () => Promise.all(pulls.map((name) => providers.getCredentials(name)));
      await all();
      const cold = await runs();
      report(`1,000 pulls, cold, ${cacheKeyType}: plugin runs (10 allowed)`, cold, 'runs');
      await all();
      report('  and once it has answered', (await runs()) - cold, 'runs');
    });
    await withProviders({ cacheKeyType, auth }, async (providers, runs) => {
      // One pull from each registry first, or one at all.
      for (const name of images.slice(0, allowed)) await providers.getCredentials(name);
      await Promise.all(pulls.map((name) => providers.getCredentials(name)));
      const what = `1,000 pulls after the first ${allowed}, ${cacheKeyType}: plugin runs`;
      report(what, await runs(), 'runs', {
        ratio: (await runs()) / allowed,
        peer: 'the number the specification allows',
      });
    });
  }
  await withProviders({ cacheKeyType: 'Registry', auth }, async (providers) => {
    await providers.getCredentials('r0.example.dev/app');
    const ms = await time(async () => {
      for (let i = 0; i < 50_000; i++) await providers.getCredentials('r0.example.dev/app');
    });
    report('cached lookups', 50_000_000 / ms, 'lookups/s');
  });
}

// npm run bench [-- --only requests]: the parts are the keys of `parts`.
// Absolute figures depend on the machine; quote the ratios, which are against a peer in the same run.
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { writePlugin } from '../../src/testing/index.ts';
import { startCluster } from './peers.ts';
import { heading, median, report } from './report.ts';
import { firstRequests, requests, rotation } from './requests.ts';
import { coldStart, pluginRuns, resolving } from './sources.ts';

function importTime(): void {
  heading('(f) import time');
  const measure = (imports: string) => {
    const program = `const began = performance.now(); ${imports} console.log(performance.now() - began);`;
    const once = () =>
      Number(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }));
    return median(Array.from({ length: 7 }, once));
  };
  const peer = measure(`await import('@kubernetes/client-node');`);
  const both = measure(`await import('@kubernetes/client-node'); await import('clusterprofile-credentials');`);
  report('@kubernetes/client-node', peer, 'ms');
  report('with ours on top', both, 'ms', { ratio: both / peer, peer: 'client-node alone' });
}

const plugin = await writePlugin({ token: 'bench-token' });
const cluster = await startCluster();
const parts: Readonly<Record<string, () => void | Promise<void>>> = {
  first: () => firstRequests(plugin),
  requests: () => requests(cluster, plugin),
  resolving: () => resolving(plugin),
  runs: () => pluginRuns(plugin),
  cold: () => coldStart(plugin),
  rotation,
  import: importTime,
};
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: Object.keys(parts) },
  },
});
try {
  for (const [name, part] of Object.entries(parts)) if (values.only.includes(name)) await part();
} finally {
  cluster.close();
  await plugin.remove();
}

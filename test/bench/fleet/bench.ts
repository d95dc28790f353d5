// npm run bench -- fleet: informers and engaging, each beside its peer in the same run, and shards on a simulated hub. -- --only informers runs one part,
// and --clusters 300 makes a fleet of so many.
import { parseArgs } from 'node:util';
import { CannotBuild } from '../../e2e/go-programs.ts';
import { benchClusters } from './clusters.ts';
import { benchInformers } from './informers.ts';
import { benchShards } from './shards.ts';

const parts = { informers: benchInformers, clusters: benchClusters, shards: benchShards };
const { values } = parseArgs({
  options: {
    clusters: { type: 'string', default: '1000' },
    only: { type: 'string', multiple: true, default: Object.keys(parts) },
  },
});
for (const [name, bench] of Object.entries(parts)) {
  if (!values.only.includes(name)) continue;
  try {
    await bench({ clusters: Number(values.clusters) });
  } catch (error) {
    if (!(error instanceof CannotBuild)) throw error;
    console.error(`${name} is left out: ${error.message}`);
  }
}

// npm run bench -- fleet: informers and engaging, each beside its peer in the same run, and shards on a simulated hub. -- --only informers runs one part.
import { parseArgs } from 'node:util';
import { CannotBuild } from '../../e2e/go-programs.ts';
import { benchClusters } from './clusters.ts';
import { benchInformers } from './informers.ts';
import { benchShards } from './shards.ts';

const parts = { informers: benchInformers, clusters: benchClusters, shards: benchShards };
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: Object.keys(parts) },
  },
});
for (const [name, bench] of Object.entries(parts)) {
  if (!values.only.includes(name)) continue;
  try {
    await bench();
  } catch (error) {
    if (!(error instanceof CannotBuild)) throw error;
    console.error(`${name} is left out: ${error.message}`);
  }
}

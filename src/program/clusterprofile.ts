#!/usr/bin/env node
// The program `clusterprofile`, also `kubectl clusterprofile`. The check of Node's version comes before anything else is loaded.
import '../util/node-version.ts';

const { main } = await import('./main.ts');
await main();

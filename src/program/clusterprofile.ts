#!/usr/bin/env node
// The program `clusterprofile`, also `kubectl clusterprofile`. An old Node is told of before anything else is loaded.
import '../node-version.ts';

const { main } = await import('./main.ts');
await main();

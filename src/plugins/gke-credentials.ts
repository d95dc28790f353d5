#!/usr/bin/env node
// A credential plugin: an access token of a Google identity, for GKE clusters.
import { gkeCredentials, usage } from './cloud/gke.ts';
import { runProgram } from './program.ts';

await runProgram('gke-credentials', usage, gkeCredentials);

#!/usr/bin/env node
// A credential plugin: the token of Secret <namespace>/<clusterName>, with `clusterName` from the profile's exec extension.
// With --token-request it mints a token of ServiceAccount <namespace>/<clusterName> instead, which expires.
import { runProgram } from './program.ts';
import { secretreader, usage } from './read-secret.ts';

await runProgram('secretreader', usage, secretreader);

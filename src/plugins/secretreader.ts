#!/usr/bin/env node
// A credential plugin: the token in the Secret that the profile names, or a new one of the service account of that name.
import { runProgram } from './program.ts';
import { secretreader, usage } from './read-secret.ts';

await runProgram('secretreader', usage, secretreader);

#!/usr/bin/env node
// A credential plugin: the token, or the client certificate and key, of a kubeconfig in a Secret that the profile names.
import { runProgram } from './program.ts';
import { kubeconfigSecretreader, usage } from './read-kubeconfig-secret.ts';

await runProgram('kubeconfig-secretreader', usage, kubeconfigSecretreader);

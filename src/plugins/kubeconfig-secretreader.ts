#!/usr/bin/env node
// A credential plugin: the token, or the client certificate and key, of a kubeconfig in a Secret. The profile's exec
// extension says which: { name, key, namespace?, context? }.
import { runProgram } from './program.ts';
import { kubeconfigSecretreader, usage } from './read-kubeconfig-secret.ts';

await runProgram('kubeconfig-secretreader', usage, kubeconfigSecretreader);

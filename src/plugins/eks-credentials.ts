#!/usr/bin/env node
// A credential plugin: a token for an EKS cluster, signed with the AWS identity of the environment.
import { eksCredentials, usage } from './cloud/eks.ts';
import { runProgram } from './program.ts';

await runProgram('eks-credentials', usage, eksCredentials);

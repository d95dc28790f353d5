#!/usr/bin/env node
// A credential plugin: a token of an OAuth 2.0 or OpenID Connect issuer, or a token in a file.
import { usage } from './oidc/settings.ts';
import { oidcCredentials } from './oidc/token.ts';
import { runProgram } from './program.ts';

await runProgram('oidc-credentials', usage, oidcCredentials);

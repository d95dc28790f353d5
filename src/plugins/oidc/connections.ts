/** Which authorities `fetch` trusts, and which proxies it uses. Both are settings of the whole process, which ends with the answer. */
import http from 'node:http';
import tls from 'node:tls';
import { readText } from '../files.ts';

/**
 * Trusts only the authorities of a file; without a file, all public roots and those of the system. Uses the proxies of the
 * environment. Throws if the file or a proxy cannot be used.
 */
export function trustAndProxies(caFile: string | undefined): void {
  if (caFile === undefined)
    tls.setDefaultCACertificates([...new Set([...tls.getCACertificates('default'), ...systemRoots()])]);
  else trustOnly(caFile);
  try {
    // Newer versions of Node have it; in others NODE_USE_ENV_PROXY=1 does the same.
    http.setGlobalProxyFromEnv?.();
  } catch {
    // Its own message could hold the proxy's password.
    throw new Error('HTTPS_PROXY or HTTP_PROXY of the environment is not a URL that Node can use: correct it');
  }
}

function trustOnly(caFile: string): void {
  const ca = readText('--ca-file', caFile);
  try {
    tls.setDefaultCACertificates([ca]);
  } catch {
    throw new Error(`--ca-file ${caFile} holds no certificates in PEM`);
  }
}

function systemRoots(): readonly string[] {
  try {
    return tls.getCACertificates('system');
  } catch {
    return [];
  }
}

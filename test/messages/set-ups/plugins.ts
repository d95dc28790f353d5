import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createCertificateAuthority } from '../../../src/testing/index.ts';
import { print, setEnvironment } from '../../fixtures/script.ts';
import { configWith, list, listWith, type SetUps } from '../set-up.ts';

const secretReader = fileURLToPath(new URL('../../../dist/plugins/secretreader.js', import.meta.url));
const { certificate } = createCertificateAuthority().issue({ commonName: 'me', client: true });

/** What a plugin is, does and answers. */
export const plugins: SetUps = {
  'its path is wrong': (t) =>
    listWith(t, { exec: { command: '/usr/bin/gke-auth', installHint: 'apt-get install gke-auth' } }),
  'it is not in PATH': (t) => listWith(t, { exec: { command: 'no-such-auth-plugin' } }),
  'it may not be executed': async (t) => {
    const config = await configWith(t);
    await chmod(config.access.exec?.command ?? '', 0o644);
    return list(config);
  },
  'it is a folder': (t) => listWith(t, { exec: { command: '/usr/bin' } }),
  'it is not allowed': (t) => listWith(t, { options: { pluginPolicy: { policyType: 'DenyAll' } } }),
  'it fails, and says why': (t) =>
    listWith(t, { answer: { exitCode: 1, stderr: 'ERROR: (gcloud.auth) no active account: run gcloud auth login' } }),
  'it fails without a word': (t) => listWith(t, { answer: { exitCode: 2 } }),
  'it crashes': (t) => listWith(t, { script: 'kill -SEGV $$' }),
  'it hangs': (t) => listWith(t, { script: 'sleep 600', options: { pluginTimeoutMs: 250 } }),
  'it wants a terminal': (t) => listWith(t, { exec: { interactiveMode: 'Always' } }),
  'it writes a log line to stdout': (t) =>
    listWith(t, { script: `echo 'starting up'\n${print({ token: 'token-1' })}` }),
  'it prints nothing': (t) => listWith(t, { script: 'exit 0' }),
  'it answers in another version': (t) =>
    listWith(t, { answer: { token: 'token-1', apiVersion: 'client.authentication.k8s.io/v1beta1' } }),
  'it answers without a credential': (t) => listWith(t, { script: print({}) }),
  'its token has a line break': (t) => listWith(t, { answer: { token: 'token-1\n' } }),
  'its certificate has no key': (t) => listWith(t, { script: print({ clientCertificateData: certificate }) }),
  'its expiry is no time': (t) => listWith(t, { script: print({ token: 'token-1', expirationTimestamp: 'tomorrow' }) }),
  'an extension that it needs is missing': (t) => {
    setEnvironment(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: '/nowhere' });
    return listWith(t, {
      exec: { command: process.execPath, args: [secretReader], provideClusterInfo: true },
    });
  },
  'it fails again while it is held back': async (t) => {
    const config = await configWith(t, { answer: { exitCode: 1, stderr: 'the issuer is away' } });
    await list(config).catch(() => undefined);
    return list(config);
  },
};

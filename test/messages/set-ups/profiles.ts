import { argsExtension, envsExtension } from '../../fixtures/resolving.ts';
import { configWith, type SetUps } from '../set-up.ts';

const offers = (...names: string[]) => ({
  accessProviders: names.map((name) => ({ name, cluster: { server: 'https://a.example.dev' } })),
});

/** What a ClusterProfile says. */
export const profiles: SetUps = {
  'it has no status yet': (t) => configWith(t, { status: null }),
  'its access type is misspelt': (t) => configWith(t, { status: offers('gogle') }),
  'it offers other access types': (t) => configWith(t, { status: offers('aws', 'azure') }),
  'it lists an access type twice': (t) => configWith(t, { status: offers('google', 'google') }),
  'it has no cluster': (t) => configWith(t, { status: { accessProviders: [{ name: 'google' }] } }),
  'its server has no scheme': (t) => configWith(t, { cluster: { server: 'a.example.dev:6443' } }),
  'its server is http': (t) => configWith(t, { cluster: { server: 'http://a.example.dev' } }),
  'it skips verification': (t) =>
    configWith(t, { cluster: { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true } }),
  'its authority is a path': (t) => configWith(t, { cluster: { 'certificate-authority-data': '/etc/ssl/ca.crt' } }),
  'its proxy is of another kind': (t) => configWith(t, { cluster: { 'proxy-url': 'ftp://proxy:21' } }),
  'its proxy has a login': (t) => configWith(t, { cluster: { 'proxy-url': 'http://user:hunter2@proxy:3128' } }),
  'its server is not allowed': (t) => configWith(t, { provider: { allowedServers: ['https://*.example.dev'] } }),
  'its namespace is not allowed': (t) => configWith(t, { provider: { allowedProfiles: { namespaces: ['team-*'] } } }),
  'its arguments are no list': (t) =>
    configWith(t, {
      provider: { profileSourcedCLIArgsPolicy: 'Append' },
      cluster: { extensions: [{ name: argsExtension, extension: '--verbose' }] },
    }),
  'it sets a dangerous variable': (t) =>
    configWith(t, {
      provider: { profileSourcedEnvVarsPolicy: 'Replace' },
      cluster: { extensions: [{ name: envsExtension, extension: { LD_PRELOAD: '/x.so' } }] },
    }),
};

// Kubeconfigs and plugin answers: valid, odd and hostile.
import fc from 'fast-check';
import { caData } from '../fixtures/ca.ts';
import { answer } from './exec-answers.ts';
import { first, group, mostly, rarely, second, v1, written } from './exec-arbitraries.ts';

/** A kubeconfig's text, and what the plugin prints. */
export interface Case {
  readonly kubeconfig: string;
  readonly answer: string;
}

const version = fc.constantFrom(v1, `${v1}beta1`);
const word = fc.oneof(
  fc.constantFrom('', 'a', 'a b', '$HOME', 'é', "'", '{}', 'true', '7'),
  fc.string({ maxLength: 6 }),
);

// What an operator writes.
const exec = fc.record(
  {
    apiVersion: mostly<unknown>(version, fc.constantFrom('', 'v1', `${group}v2`, `${group}v1alpha1`, null)),
    command: mostly<unknown>(fc.constantFrom('plugin', '/usr/bin/plugin', './plugin'), fc.constantFrom('', 7)),
    args: mostly<unknown>(fc.array(word, { maxLength: 3 }), fc.constantFrom(null, 'x', [7])),
    env: mostly<unknown>(
      fc.array(fc.record({ name: fc.constantFrom('A', 'B', 'a', 'REGION'), value: word }), { maxLength: 3 }),
      fc.constantFrom<unknown>(null, [{ name: 'A' }], [{ name: '', value: 'x' }], { A: 'x' }),
    ),
    provideClusterInfo: mostly<unknown>(fc.boolean(), fc.constantFrom(null, 'true', 1)),
    installHint: fc.constantFrom('', 'install it', 'a\nb'),
    interactiveMode: mostly<unknown>(fc.constantFrom('Never', 'IfAvailable'), fc.constantFrom('', 'never', null)),
    unknown: fc.constant(1),
  },
  { requiredKeys: ['apiVersion', 'command', 'interactiveMode'] },
);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const user = fc.record(
  {
    exec,
    ...Object.fromEntries(
      Object.entries({
        token: fc.constantFrom<unknown>('', 'static', null, 7),
        username: fc.constantFrom('', 'bob'),
        password: fc.constantFrom('', 'pa:ss'),
        'client-certificate-data': fc.constantFrom(base64(first.certificate), base64(second.certificate), 'YQ==', ''),
        'client-key-data': fc.constantFrom(base64(first.key), base64(first.key), '%%', ''),
        as: fc.constantFrom('', 'jane', 'josé', 'a\nb'),
        'as-uid': fc.constantFrom('', 'u-1'),
        'as-groups': fc.constantFrom<unknown>(['a', 'b'], ['a'], [], null),
        'as-user-extra': fc.constantFrom({ 'Dept/x': ['a'], k: ['1', '2'] }, {}, { e: [] }),
      }).map(([name, arbitrary]) => [name, rarely(arbitrary)]),
    ),
  },
  { requiredKeys: ['exec'] },
);
const extension = fc.record({
  name: fc.constantFrom('client.authentication.k8s.io/exec', 'other', 'third'),
  extension: fc.oneof(
    fc.constant({ clusterName: 'c', id: 12 }),
    fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text)),
  ),
});
const cluster = fc.record(
  {
    server: mostly<unknown>(
      fc.constantFrom('https://h', 'https://h:6443', 'https://h/v1/projects/1', 'https://[::1]:1'),
      fc.constantFrom('https://h/', 'http://h', 'h:443', '', 'https://u:p@h', 'https://h?q', 'HTTPS://H', null, 7),
    ),
    'certificate-authority-data': mostly<unknown>(fc.constant(caData), fc.constantFrom('YQ==', '', '%', null), 20),
    'proxy-url': mostly<unknown>(
      fc.constantFrom('', 'http://p:3128', 'https://p', 'socks5://p:1', 'http://u:p@p:3128'),
      fc.constantFrom('ftp://p', 'p:3128', ':', null),
    ),
    'tls-server-name': fc.constantFrom<unknown>('', 'n', null),
    'insecure-skip-tls-verify': mostly<unknown>(fc.constantFrom(false, null), fc.constant(true), 6),
    'disable-compression': mostly<unknown>(fc.boolean(), fc.constantFrom(null, 'true')),
    extensions: fc.uniqueArray(extension, { maxLength: 3, selector: ({ name }) => name }),
    unknown: fc.constant({}),
  },
  { requiredKeys: ['server'] },
);
const kubeconfig = fc
  .record({ cluster, user, context: mostly(fc.constant('c'), fc.constantFrom('gone', ''), 40) })
  .chain(({ context, ...parts }) =>
    written({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': context,
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'bob', namespace: 'n' } }],
      clusters: [{ name: 'k', cluster: parts.cluster }],
      users: [{ name: 'bob', user: parts.user }],
    }),
  );

const good = {
  kubeconfig: JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'bob' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://h' } }],
    users: [{ name: 'bob', user: { exec: { apiVersion: v1, command: 'plugin', interactiveMode: 'Never' } } }],
  }),
};
/** Half of them are kubeconfigs with a good answer, half answers to a good kubeconfig. */
export const cases: fc.Arbitrary<Case> = fc.oneof(
  kubeconfig.map((text) => ({
    kubeconfig: text,
    // In the version that is asked for, wherever there is one.
    answer: JSON.stringify({
      apiVersion: /client\.authentication\.k8s\.io\/v1(beta1|alpha1)?/.exec(text)?.[0] ?? v1,
      kind: 'ExecCredential',
      status: { token: 'token' },
    }),
  })),
  answer.map((text) => ({ ...good, answer: text })),
);

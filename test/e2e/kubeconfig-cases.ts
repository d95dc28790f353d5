// Small machines for the comparison with clientcmd: sets of kubeconfigs and what they name, an environment, a context.
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import { caData } from '../fixtures/ca.ts';
import { words } from './differential.ts';
import { first, mostly, second, v1, written } from './exec-arbitraries.ts';

/** `$DIR` stands for the machine's folder, which is the working directory too; `home` in it is the home. */
export interface Machine {
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** The context that the caller asks for; empty for none. */
  readonly context: string;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** An object with some of the fields; each is there once in `one` times. */
const some = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>, one = 5) =>
  fc
    .record(
      Object.fromEntries(
        Object.entries(fields).map(([name, arbitrary]) => [
          name,
          fc.oneof({ weight: one - 1, arbitrary: fc.constant(undefined) }, arbitrary),
        ]),
      ),
    )
    .map((record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)));

const folders = ['home/.kube', 'a', 'b/c'];
/** Paths as they stand in a file that lies in one of the folders. */
const pathOf = (name: string) =>
  mostly(
    fc.constantFrom(name, `./${name}`, `$DIR/a/${name}`, `$DIR/b/../a/${name}`),
    fc.constantFrom(`../${name}`, `$DIR/gone/${name}`, '.', `~/${name}`),
  );
const exec = fc.record(
  {
    apiVersion: mostly(fc.constantFrom(v1, `${v1}beta1`), fc.constantFrom('', `${v1}alpha1`)),
    command: mostly(
      fc.constantFrom('plugin', './plugin', 'lib/../bin/plugin', 'bin/plugin', '/usr/bin/plugin'),
      fc.constant(''),
    ),
    args: fc.constantFrom<unknown>([], ['a', 'b'], null),
    env: mostly<unknown>(fc.constantFrom(null, [{ name: 'A', value: 'a' }]), fc.constant([{ name: '', value: 'a' }])),
    interactiveMode: mostly(fc.constantFrom('Never', 'IfAvailable', 'Always'), fc.constantFrom('', 'never')),
  },
  { requiredKeys: ['apiVersion', 'command', 'interactiveMode'] },
);
const certificate = some({ 'client-certificate': pathOf('certificate'), 'client-key': pathOf('key') }, 1);
const user = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.oneof(
      fc.constant({}),
      fc.record({ token: fc.constantFrom('t', 'u v', '') }),
      fc.record({ tokenFile: pathOf('token') }),
      fc.record({ username: fc.constantFrom('jane', ''), password: fc.constantFrom('pw', '') }),
      fc.constant({ 'client-certificate-data': base64(first.certificate), 'client-key-data': base64(first.key) }),
      certificate,
      fc.record({ exec }),
    ),
  },
  some({
    token: fc.constantFrom<unknown>('t', '', 'a\nb', null, 7),
    tokenFile: pathOf('token'),
    username: fc.constantFrom('jane', ''),
    password: fc.constantFrom('pw', ''),
    'client-certificate-data': fc.constantFrom(
      ...[base64(second.certificate), base64(`${second.certificate}${first.certificate.slice(0, 60)}`), 'YQ==', '%'],
    ),
    'client-key-data': fc.constantFrom(base64(second.key), base64(first.key), ''),
    'client-certificate': pathOf('certificate'),
    'client-key': pathOf('key'),
    exec: mostly<unknown>(exec, fc.constantFrom(null, {}, 'plugin')),
    'auth-provider': fc.constantFrom<unknown>({ name: 'oidc', config: {} }, null),
    as: fc.constantFrom('jane', 'josé', ''),
    'as-uid': fc.constantFrom('u-1', ''),
    'as-groups': fc.constantFrom<unknown>(['a', 'b'], []),
    'as-user-extra': fc.constantFrom({ 'Dept/x': ['a'] }, {}),
    unknown: fc.constant(1),
  }),
);
const cluster = fc
  .tuple(
    some(
      {
        server: mostly<unknown>(
          words('https://h|https://h:6443|https://h/v1/projects/1|https://h/|http://localhost:8001'),
          fc.constantFrom<unknown>(
            ...'http://h|h:443|h||https://u:p@h|https://h/p?q|https://h?q|HTTPS://H'.split('|'),
            7,
          ),
        ),
      },
      40,
    ).map((given) => ({ server: 'https://h', ...given })),
    some({
      'certificate-authority-data': mostly<unknown>(fc.constant(caData), fc.constantFrom('YQ==', '%', ''), 15),
      'insecure-skip-tls-verify': fc.boolean(),
    }),
    some({
      'certificate-authority': pathOf('ca.crt'),
      'tls-server-name': fc.constantFrom('n', ''),
      'proxy-url': fc.constantFrom('', 'http://p:3128', 'socks5://p', 'https://u:p@p', 'ftp://p', 'p:3128'),
      'disable-compression': fc.boolean(),
      extensions: fc.constant([{ name: 'other', extension: { a: 1 } }]),
      unknown: fc.constant([]),
    }),
  )
  .map((parts) => Object.assign({}, ...parts));
const context = fc.record(
  {
    cluster: mostly(fc.constantFrom('k', 'k', 'k', 'l'), fc.constantFrom('gone', '')),
    user: mostly(fc.constantFrom('bob', 'bob', 'bob', 'carl'), fc.constantFrom('gone', '')),
    namespace: fc.constantFrom('team-a', 'default', ''),
  },
  { requiredKeys: ['cluster'] },
);

/** Entries of one list: names from a small pool, so that files have them in common. */
const entries = (names: readonly string[], field: string, value: fc.Arbitrary<unknown>) =>
  mostly<unknown>(
    fc.uniqueArray(
      fc.record({ name: fc.constantFrom(...names), [field]: mostly(value, fc.constantFrom<unknown>(null, 7)) }),
      { maxLength: 3, selector: ({ name }) => name },
    ),
    fc.oneof(
      fc.constantFrom<unknown>(null, 'x', [7], [{}], [{ name: 7 }]),
      fc.record({ name: fc.constantFrom('', ...names), [field]: value }).map((entry) => [entry, entry]),
      fc.record({ name: fc.constant(''), [field]: value }).map((entry) => [entry]),
    ),
    40,
  );
const content = fc
  .record(
    {
      apiVersion: mostly<unknown>(fc.constant('v1'), fc.constantFrom('', 'v2', 'x/v1', null)),
      kind: mostly<unknown>(fc.constant('Config'), fc.constantFrom('', 'config', 'Pod', null)),
      'current-context': mostly<unknown>(
        fc.constantFrom('c', 'c', 'c', 'd', ''),
        fc.constantFrom<unknown>('gone', null, 7),
        40,
      ),
      clusters: entries(['k', 'k', 'l'], 'cluster', cluster),
      users: entries(['bob', 'bob', 'carl'], 'user', user),
      contexts: entries(['c', 'c', 'd'], 'context', context),
      preferences: fc.constant({ colors: true }),
    },
    { requiredKeys: ['clusters', 'users', 'contexts'] },
  )
  .chain(written);
/** A file in which everything is found, so that most machines work. */
const complete = fc
  .record({ c: cluster, u: user, namespace: fc.constantFrom('team-a', '', 'default') })
  .map(({ c, u, namespace }) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [{ name: 'k', cluster: c }],
      users: [{ name: 'bob', user: u }],
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'bob', namespace } }],
    }),
  );
const oddTexts = fc.constantFrom(
  ...'| |\n|# nothing\n|null|{}|[]|7|x|{|a: b: c|\u0000|---\n|current-context: c\n'.split('|'),
  ...['kind: Config\nkind: Config\n', 'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n', 'current-context: yes\n'],
);
const file = fc.oneof({ weight: 20, arbitrary: complete }, { weight: 20, arbitrary: content }, oddTexts);

/** Files that kubeconfigs name, in every folder in which a kubeconfig may lie. */
const named: Readonly<Record<string, fc.Arbitrary<string | undefined>>> = {
  'ca.crt': mostly<string | undefined>(
    fc.constant(Buffer.from(caData, 'base64').toString()),
    fc.constantFrom(undefined, '', 'garbage'),
    6,
  ),
  token: mostly<string | undefined>(
    fc.constantFrom('from-file', ' padded\n'),
    fc.constantFrom(undefined, '', ' \n'),
    6,
  ),
  certificate: mostly<string | undefined>(
    fc.constant(first.certificate),
    fc.constantFrom(undefined, '', `${first.certificate}${second.certificate.slice(0, -8)}`),
    10,
  ),
  key: mostly<string | undefined>(fc.constant(first.key), fc.constantFrom(undefined, second.key), 10),
};
const companions = fc
  .tuple(...folders.map((folder) => fc.record(named).map((files) => [folder, files] as const)))
  .map((all) =>
    Object.fromEntries(
      all.flatMap(([folder, files]) => Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text])),
    ),
  );
const places = ['a/config', 'b/c/config', 'config'];
const kubeconfigVariable = fc
  .array(
    mostly(
      fc.constantFrom(...places.flatMap((place) => [place, place, `$DIR/${place}`, `./${place}`])),
      fc.constantFrom('', '', 'gone', '$DIR/gone/config', 'a/config/config', 'a', 'home/.kube/config'),
      12,
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((list) => list.join(':'));
const serviceAccount = fc.record({
  'serviceaccount/token': fc.constantFrom(undefined, 'pod-token', 'pod-token'),
  'serviceaccount/ca.crt': fc.constantFrom(undefined, 'garbage', Buffer.from(caData, 'base64').toString()),
  'serviceaccount/namespace': fc.constantFrom(undefined, 'pod-namespace', '\n'),
});
const environment = fc.record({
  KUBECONFIG: fc.oneof(fc.constantFrom(undefined, undefined, ''), { weight: 3, arbitrary: kubeconfigVariable }),
  KUBERNETES_SERVICE_HOST: fc.constantFrom(undefined, '10.0.0.1', '10.0.0.1', 'fd00::1'),
  KUBERNETES_SERVICE_PORT: fc.constantFrom(undefined, '443', '443', '443', '6443'),
  POD_NAMESPACE: fc.constantFrom(undefined, undefined, undefined, 'downward', ''),
});
const defined = (record: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(record).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

export const machines: fc.Arbitrary<Machine> = fc
  .record({
    kubeconfigs: fc.record({
      'home/.kube/config': fc.option(file, { nil: undefined, freq: 6 }),
      'a/config': fc.option(file, { nil: undefined, freq: 9 }),
      'b/c/config': fc.option(file, { nil: undefined }),
      config: fc.option(file, { nil: undefined }),
    }),
    companions,
    serviceAccount,
    environment,
    context: mostly(fc.constant(''), fc.constantFrom('c', 'c', 'd', 'gone'), 6),
  })
  .map(({ kubeconfigs, companions: others, serviceAccount: account, environment: env, context: asked }) => {
    const texts: Readonly<Record<string, string | undefined>> = {
      ...kubeconfigs,
      // Whatever lies here is named from anywhere.
      'a/config': Object.values(kubeconfigs).join(),
    };
    // Most of the time goes into writing files.
    const isNamed = ([path]: readonly [string, unknown]) =>
      new RegExp(`[/" ]${basename(path)}(?:"(?!:)|\\n)`).test(texts[join(dirname(path), 'config')] ?? '');
    const used = Object.fromEntries(Object.entries(others).filter(isNamed));
    return { files: defined({ ...kubeconfigs, ...used, ...account }), env: defined(env), context: asked };
  });

// The shipped plugins; with a real cluster, and beside those of the Go library, they are in test/e2e.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { kubeconfigSecretreader } from '../../src/plugins/read-kubeconfig-secret.ts';
import { secretreader } from '../../src/plugins/read-secret.ts';
import { execCredential } from '../fixtures/clouds.ts';
import { startHub } from '../fixtures/hub.ts';
import { kubeconfig } from '../fixtures/kubeconfigs.ts';
import { setEnvironment } from '../fixtures/script.ts';

const kubeconfigOf = (server: string) =>
  kubeconfig({ exec: null, cluster: { server }, user: { token: `token for ${server}` } });

const programs = { secretreader, 'kubeconfig-secretreader': kubeconfigSecretreader } as const;

interface Given {
  readonly args?: readonly string[];
  readonly config?: unknown;
  /** The profile's. */
  readonly server?: string;
}

/** The token that a plugin gives, or its complaint. */
async function answer(
  name: keyof typeof programs,
  { args = [], config, server = 'https://h' }: Given,
): Promise<string> {
  try {
    const status = await programs[name](args)(execCredential(config, server));
    return status.token ?? assert.fail('no token');
  } catch (error) {
    return error instanceof Error ? error.message : assert.fail('no error');
  }
}

/** The same as a process. */
function run(name: keyof typeof programs, { args = [], config, server = 'https://h' }: Given, kubeconfig = '/nowhere') {
  const program = fileURLToPath(new URL(`../../dist/plugins/${name}.js`, import.meta.url));
  const env = { KUBECONFIG: kubeconfig, KUBERNETES_EXEC_INFO: JSON.stringify(execCredential(config, server)) };
  return execa(process.execPath, [program, ...args], { env, reject: false });
}

/** Lets the plugins of this process read a hub. */
async function hubOf(t: TestContext, objects: Parameters<typeof startHub>[1]) {
  const hub = await startHub(t, objects);
  setEnvironment(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: hub.kubeconfig });
  return hub;
}

describe('the shipped plugins as programs', () => {
  for (const [name, usage, bad] of [
    ['secretreader', /^Usage: secretreader /, '--token'],
    ['kubeconfig-secretreader', /^Usage: kubeconfig-secretreader /, '--context'],
  ] as const) {
    test(`${name} explains itself, answers, complains in one line, and ends with 2 where it is run in a wrong way`, async (t) => {
      const data = { token: 'token for https://h', config: kubeconfigOf('https://h') };
      const { kubeconfig } = await startHub(t, { 'fleet/secrets/spoke-1': { data } });
      const config = { clusterName: 'spoke-1', name: 'spoke-1', key: 'config' };
      const [help, wrong, good, none] = await Promise.all([
        run(name, { args: ['--help'] }),
        run(name, { args: [bad, 'x'], config }),
        run(name, { config }, kubeconfig),
        run(name, { config: { ...config, clusterName: 'none', name: 'none' } }, kubeconfig),
      ]);
      assert.match(help.stdout, usage);
      assert.deepEqual([wrong.exitCode, wrong.stdout], [2, '']);
      assert.match(wrong.stderr, /^[a-z-]+: Unknown option '--[a-z]+'.* \(--help explains\)$/);
      assert.equal(JSON.parse(good.stdout).status.token, 'token for https://h');
      assert.deepEqual([none.exitCode, none.stdout], [1, '']);
      assert.equal(none.stderr, 'failed to get secret fleet/none: it does not exist');
    });
  }
});

describe('secretreader', () => {
  const mint = ['--token-request', '--audience', 'spoke'];
  for (const [args, message] of [
    [['--expiration-seconds', 'abc'], /--expiration-seconds must be a whole number of 600 or more/],
    [['--token-request', '--name', 'spoke-1'], /--token-request needs --audience/],
    [['--token-request', '--name', 'spoke-1', '--audience', ''], /needs --audience/],
    [mint, /--token-request needs --name or --label/],
    [[...mint, '--namespace', 'fleet'], /needs --name or --label/],
  ] as const) {
    test(`is not run with ${args.join(' ')}`, () => assert.throws(() => secretreader(args), message));
  }

  test('says what the profile lacks', async () => {
    for (const [config, complaint] of [
      [null, /^missing ExecCredential.Spec.Cluster.Config: set provide/],
      [{}, /^missing clusterName in/],
      [{ clusterName: 7 }, /clusterName must be text$/],
      [{ clusterName: '../x' }, /clusterName must be a Kubernetes name$/],
      [{ clusterName: 'a..b' }, /clusterName must be a Kubernetes name$/],
    ] as const) {
      assert.match(await answer('secretreader', { config }), complaint);
    }
  });

  test('gives no token of the hub itself, and none that its operator has not let profiles name', async (t) => {
    const { requests } = await hubOf(t, {
      'fleet/secrets/spoke-1': { data: { token: 'one' }, labels: { fleet: 'yes' } },
      'fleet/secrets/other': { data: { token: 'other' } },
      'fleet/secrets/admin': { type: 'kubernetes.io/service-account-token', data: { token: 'hub admin' } },
    });
    const give = (clusterName: string, ...args: string[]) => answer('secretreader', { config: { clusterName }, args });
    for (const [clusterName, args, expected] of [
      ['spoke-1', [], /^one$/],
      ['admin', [], /^secret fleet\/admin is the token of a service account of this cluster, and is not printed/],
      ['spoke-1', ['--name', 'spoke-*', '--label', 'fleet=yes'], /^one$/],
      ['other', ['--label', 'fleet=yes'], /^secret fleet\/other does not have the label fleet=yes/],
      ['spoke-1', ['--namespace', 'elsewhere'], /^failed to get secret elsewhere\/spoke-1: it does not exist/],
    ] as const) {
      assert.match(await give(clusterName, ...args), expected);
    }
    const before = requests.length;
    assert.match(
      await give('other', '--name', 'spoke-*'),
      /^the profile names other, and this plugin may read only spoke-\*/,
    );
    assert.equal(requests.length, before, 'it is not even read');
  });

  test('mints tokens for the audience that it is given, of what may be named', async (t) => {
    const { requests } = await hubOf(t, {
      'fleet/serviceaccounts/spoke-1': { labels: { fleet: 'yes' } },
      'fleet/serviceaccounts/admin': {},
    });
    const give = (clusterName: string, ...args: string[]) =>
      answer('secretreader', { config: { clusterName }, args: [...mint, ...args] });
    for (const pin of ['--name=spoke-*', '--label=fleet=yes']) {
      const [, claims = ''] = (await give('spoke-1', pin)).split('.');
      const { aud, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString());
      assert.deepEqual([aud, sub], [['spoke'], 'system:serviceaccount:fleet:spoke-1']);
    }
    const unlabelled = /^service account fleet\/admin does not have the label fleet=yes/;
    assert.match(await give('admin', '--label=fleet=yes'), unlabelled);
    assert.match(await give('admin', '--name=spoke-*'), /^the profile names admin/);
    assert.ok(!requests.includes('POST fleet/serviceaccounts/admin/token'), requests.join());
  });
});

describe('kubeconfig-secretreader', () => {
  test('is not run where every profile could name everything', () => {
    const args = ['--any-server', '--namespace', 'x'];
    assert.throws(() => kubeconfigSecretreader(args), /^Error: --any-server needs --name or --label/);
  });

  test('says what the profile lacks', async () => {
    assert.match(await answer('kubeconfig-secretreader', { config: { key: 'k' } }), /^missing name in/);
    assert.match(await answer('kubeconfig-secretreader', { config: { name: 'n' } }), /^missing key in/);
  });

  test("gives a kubeconfig's credential for its own server only, and of what may be named", async (t) => {
    const [mine, victims] = ['https://mine.example.dev', 'https://victim.example.dev'];
    await hubOf(t, {
      'fleet/secrets/mine': { data: { config: kubeconfigOf(mine) }, labels: { fleet: 'yes' } },
      'fleet/secrets/victims': { data: { config: kubeconfigOf(victims) } },
      'other/secrets/mine': { data: { config: kubeconfigOf(mine) } },
    });
    const give = (server: string, config: object, ...args: string[]) =>
      answer('kubeconfig-secretreader', { server, config: { key: 'config', ...config }, args });
    const inOther = { name: 'mine', namespace: 'other' };
    for (const [server, config, args] of [
      [mine, { name: 'mine' }, []],
      [mine, inOther, []],
      ['https://gateway', { name: 'mine' }, ['--any-server', '--name', 'mine']],
    ] as const) {
      assert.equal(await give(server, config, ...args), `token for ${mine}`);
    }
    assert.equal(
      await give(mine, { name: 'victims' }),
      `the kubeconfig of secret fleet/victims is for ${victims}, and the profile's server is ${mine}: its credential is not sent there`,
    );
    assert.match(await give(victims, { name: 'victims' }, '--label=fleet=yes'), /does not have the label fleet=yes/);
    const outside = /^the profile names the namespace other, and this plugin may read only fleet \(--namespace\)/;
    assert.match(await give(mine, inOther, '--namespace=fleet'), outside);
  });

  test('says what is wrong with a kubeconfig, and shows nothing of it', async (t) => {
    const config = (user: object, more: object = {}) => kubeconfig({ exec: null, user, more });
    const pem = Buffer.from('pem').toString('base64');
    const refused: Readonly<Record<string, readonly [string, RegExp]>> = {
      broken: [
        'users: [\ntoken: hunter2',
        /^failed to parse kubeconfig from secret fleet\/s: line 2: is neither JSON nor YAML/,
      ],
      numeric: [config({ token: 5 }), /^failed to parse kubeconfig from .*: users\.bob\.token: must be text/],
      extended: [config({ token: 'hunter2' }, { extensions: [{}] }), /^kubeconfig extensions are not supported$/],
      'without a context': [config({}, { 'current-context': '' }), /^no context specified and no current-context/],
      'with another context': [
        config({}, { 'current-context': 'd' }),
        /^context "d" not found in kubeconfig: it has c$/,
      ],
      'without its user': [config({}, { users: [] }), /^user "bob" not found in kubeconfig$/],
      'with a file': [config({ 'client-key': '/k' }), /^client-key file path is not supported; use client-key-data$/],
      'with half a pair': [
        config({ 'client-certificate-data': pem }),
        /^client-certificate-data found but no client-key-data/,
      ],
      'with a plugin alone': [config({ exec: { command: 'x' } }), /^no authentication method found in user "bob"/],
    };
    await hubOf(t, {
      'fleet/secrets/s': { data: Object.fromEntries(Object.entries(refused).map(([key, [text]]) => [key, text])) },
    });
    for (const [key, [, complaint]] of Object.entries(refused)) {
      const said = await answer('kubeconfig-secretreader', { config: { name: 's', key } });
      assert.match(said, complaint);
      assert.doesNotMatch(said, /hunter2/);
    }
  });
});

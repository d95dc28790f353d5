import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PluginError } from '../../src/errors/index.ts';
import { runPlugin } from '../../src/exec/plugin.ts';
import { call, failureOf, options, secret } from '../fixtures/plugin-call.ts';
import { ended, print, setEnvironment, shellPlugin, withTimeLimit } from '../fixtures/script.ts';

describe('a plugin that fails', () => {
  test('with an exit code gives the code and the last of its stderr, whatever it printed on stdout', async (t) => {
    const plugin = await shellPlugin(t, `echo "no metadata server" >&2\n${print({ token: secret })}\nexit 7`);
    const error = await failureOf(t, plugin, 'PLUGIN_FAILED');
    assert.equal(error.exitCode, 7);
    assert.match(error.message, /exit code 7\nstderr: no metadata server$/);
    assert.equal(error.retryable, true);
  });

  test('of a signal gives the signal', async (t) => {
    const plugin = await shellPlugin(t, 'kill -KILL $$');
    assert.equal((await failureOf(t, plugin, 'PLUGIN_SIGNALED')).signal, 'SIGKILL');
  });

  test('shows at most the last 2 KiB of its stderr, without credentials and without control characters', async (t) => {
    const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
    const code = `yes "0123456789" | head -c 100000 >&2
printf '\\033[31mred\\n' >&2
echo "Authorization: Bearer ${secret}" >&2
echo "jwt ${jwt} proxy http://user:${secret}@proxy" >&2
printf -- '-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n' ${secret} >&2
exit 1`;
    const plugin = await shellPlugin(t, code);
    const { stderr = '' } = await failureOf(t, plugin, 'PLUGIN_FAILED');
    assert.ok(Buffer.byteLength(stderr) <= 2048, `${Buffer.byteLength(stderr)}`);
    assert.match(stderr, /red\nAuthorization: Bearer \[redacted\]/);
    assert.ok(!stderr.includes(jwt) && !stderr.includes('\u001b'), stderr);
  });

  test('does not show on stderr what it printed as a token on stdout', async (t) => {
    const logs: string[] = [];
    const echo = `echo "got ${secret}" >&2`;
    const failing = await shellPlugin(t, `${echo}\n${print({ token: secret }, { apiVersion: 'wrong/v1' })}`);
    await failureOf(t, failing, 'ANSWER_WRONG_VERSION', { logs });
    const working = await shellPlugin(t, `${echo}\n${print({ token: secret })}`);
    await runPlugin(call({ command: working.command }), options(t, { logs }));
    assert.equal(logs.length, 2);
    for (const line of logs) assert.ok(line.includes('got [redacted]'), line);
  });

  test('does not show what it was configured with: variables, arguments, and its own environment', async (t) => {
    setEnvironment(t, { CPC_TEST_SESSION_TOKEN: `inherited-${secret}` });
    const env = [
      { name: 'APP_PASSWORD', value: `configured-${secret}` },
      { name: 'AZURE_TENANT_ID', value: 'tenant-1' },
      { name: 'KUBECONFIG', value: '/etc/hub/kubeconfig' },
    ];
    const code = `echo "$APP_PASSWORD; $1; $2; $CPC_TEST_SESSION_TOKEN; $AZURE_TENANT_ID at $KUBECONFIG" >&2; exit 1`;
    const plugin = await shellPlugin(t, code);
    const args = ['--client-secret', `argument-${secret}`];
    const error = await failureOf(t, { command: plugin.command, env, args }, 'PLUGIN_FAILED');
    assert.equal(error.stderr, '[redacted]; --client-secret; [redacted]; [redacted]; tenant-1 at /etc/hub/kubeconfig');
  });

  test('shows the ordinary variables that it was configured with: one of them may be what is wrong', async (t) => {
    const ordinary = {
      NO_PROXY: '10.0.0.0/8,.svc,.cluster.local',
      LC_ALL: 'en_US.UTF-8',
      GODEBUG: 'http2client=0,netdns=go+2',
      VAULT_ADDR: 'https://vault.example.dev:8200',
      VAULT_AUTH: 'jwt/spoke-clusters',
      AZURE_CLOUD: 'AzureUSGovernment',
      AZURE_SCOPES: '6dae42f8-4368-4678-94ff-3960e28e3630/.default offline_access',
      AZURE_CLIENT: 'a94a8fe5-ccb1-9ba6-1c4c-0873d391e987',
      AAD_LOGIN: 'workloadidentity',
      OIDC_SCOPES: 'openid profile groups',
      AWS_SESSION: 'fleet-controller-eu',
      GOOGLE_APPLICATION_CREDENTIALS: '/var/run/google/config.json',
      CLOUDSDK_CORE_PROJECT_NUMBER: '123456789012',
      KUBE_CONTEXT: 'spoke-1.eu-west-1@admin',
    };
    const env = Object.entries(ordinary).map(([name, value]) => ({ name, value }));
    const shown = env.map(({ name }) => `is $${name} right?`).join('\n');
    const plugin = await shellPlugin(t, `cat >&2 <<END\n${shown}\nEND\nexit 1`);
    const error = await failureOf(t, { command: plugin.command, env }, 'PLUGIN_FAILED');
    assert.equal(error.stderr, env.map(({ value }) => `is ${value} right?`).join('\n'));
  });

  const answer = `token=$(cat "$DIR/token"); printf '{"status":{"token":"%s"}}' "$token"; echo "got $token" >&2`;
  for (const [what, code] of [
    ['that is its answer', answer],
    ['that is in no answer', `cat "$DIR/token" >&2; exit 1`],
    ['that is in no answer, and words around it', `{ cat "$DIR/token"; echo; echo 'is refused'; } >&2; exit 1`],
  ] as const) {
    test(`does not show the end of a token of 40 KiB ${what}`, async (t) => {
      const plugin = await shellPlugin(t, code);
      const token = `${secret}${Array.from({ length: 4_000 }, (_, i) => `a${(i * 7919) % 1_000_003}B`).join('')}`;
      await writeFile(join(plugin.folder, 'token'), token);
      const error: unknown = await runPlugin(call({ command: plugin.command }), options(t)).catch((reason) => reason);
      assert.ok(error instanceof PluginError);
      for (let at = 0; at + 15 <= token.length; at += 5) assert.ok(!error.message.includes(token.slice(at, at + 15)));
      if (code.includes('is refused')) assert.match(error.message, /is refused/);
    });
  }

  test('that hangs is killed with its whole group when its time is over', async (t) => {
    const code = `trap '' TERM\nsleep 1000 &\necho $! > "$DIR/child"\necho $$ > "$DIR/pid"\nwait`;
    const plugin = await shellPlugin(t, code);
    await withTimeLimit(join(plugin.folder, 'pid'), async (timeoutMs) => {
      const error = await failureOf(t, plugin, 'PLUGIN_TIMEOUT', { timeoutMs });
      assert.ok(error.message.includes(`within ${timeoutMs} ms`), error.message);
    });
    for (const name of ['pid', 'child']) await ended(t, Number(await readFile(join(plugin.folder, name), 'utf8')));
  });

  test('that is over its time gets SIGTERM first', async (t) => {
    const plugin = await shellPlugin(t, `trap 'echo > "$DIR/terminated"' TERM\nwhile :; do sleep 0.1; done`);
    await withTimeLimit(join(plugin.folder, 'terminated'), (timeoutMs) =>
      failureOf(t, plugin, 'PLUGIN_TIMEOUT', { timeoutMs }),
    );
  });

  test('whose grandchild holds stdout in a session of its own settles all the same', async (t) => {
    const plugin = await shellPlugin(t, `setsid sh -c 'echo $$ > "'$DIR'/child"; exec sleep 1000' &\nexit 0`);
    await withTimeLimit(join(plugin.folder, 'child'), (timeoutMs) =>
      failureOf(t, plugin, 'PLUGIN_TIMEOUT', { timeoutMs }),
    );
    process.kill(Number(await readFile(join(plugin.folder, 'child'), 'utf8')), 'SIGKILL');
  });

  test('that prints 100 MB is stopped early', async (t) => {
    const plugin = await shellPlugin(t, `yes ${secret} | head -c 100000000`);
    await failureOf(t, plugin, 'ANSWER_TOO_LARGE');
  });
});

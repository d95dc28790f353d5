// Whoever writes a profile, or owns a spoke's API server, chooses words that stand in logs and errors.
import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigurationError, PluginError } from '../../src/index.ts';
import { defaultLogger, safeLogger } from '../../src/observability/logger.ts';
import { startProviders } from '../fixtures/fleet.ts';
import { profileAt } from '../fixtures/raw-h2.ts';
import { startWatching } from '../fixtures/reflected.ts';
import { shellPlugin } from '../fixtures/script.ts';
import { rejection } from '../fixtures/thrown.ts';

const forged = 'x\n2026-11-21T21:00:00Z WARN fleet/prod is deleted\r\u001b[2J\u2028';

describe('a logger is given one short line at a time', () => {
  for (const [what, message] of [
    ['with line ends and escape sequences', forged],
    ['of 20 MB', 'y\n'.repeat(10_000_000)],
  ] as const) {
    test(`whatever is said: a text ${what}`, (t) => {
      const said: { readonly fields: object; readonly message: string }[] = [];
      const keep = (fields: object, line: string) => said.push({ fields, message: line });
      const logger = safeLogger({ warn: keep, info: keep, debug: keep });
      const warn = mock.method(console, 'warn', (line: string) => keep({}, line));
      t.after(() => warn.mock.restore());
      for (const say of [logger.warn, logger.info, logger.debug]) say?.({ profile: message, count: 1 }, message);
      defaultLogger.warn({}, message);
      assert.equal(said.length, 4);
      for (const line of said) {
        assert.match(line.message, /^[ -~[\]…]+$/);
        assert.ok(line.message.length < 9_000);
        assert.match(Object.values(line.fields).join(), /^[ -~…]*$/);
        assert.ok(JSON.stringify(line.fields).length < 2_000);
      }
    });
  }
});

test("a profile's text on a plugin's stderr is one line of the log, and in the error each of its lines says whose it is", async (t) => {
  const plugin = await shellPlugin(t, 'printf "no such cluster: %s\\n" "$CLUSTER_NAME" >&2; exit 1');
  const lines: string[] = [];
  const keep = (_fields: object, message: string) => lines.push(message);
  const options = { logger: { warn: keep, info: keep, debug: keep } };
  const providers = startProviders(t, plugin, options, { profileSourcedEnvVarsPolicy: 'Replace' });
  const extension = { CLUSTER_NAME: forged };
  const extensions = [{ name: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs', extension }];
  const error = await rejection(providers.getConfig(profileAt(1, { extensions })).ready());
  assert.ok(error instanceof PluginError);
  const [, ...more] = error.message.split('\n');
  assert.equal(more.length, 2);
  for (const line of more) assert.match(line, /^stderr: [ -~]+$/);
  assert.ok(lines.some((line) => line.includes('no such cluster')));
  for (const line of lines) assert.match(line, /^[ -~…]+$/, inspect(line));
});

test("a profile's variables and arguments are no secrets, and blank no word of a diagnosis; the operator's are", async (t) => {
  const diagnosis = 'dial tcp: lookup sts.example.dev: no such host; certificate signed by unknown authority';
  const plugin = await shellPlugin(t, `echo "${diagnosis}; $OWN_PASSWORD" >&2; exit 1`);
  const providers = startProviders(t, plugin, undefined, {
    execConfig: { env: [{ name: 'OWN_PASSWORD', value: 'the operator knows' }] },
    profileSourcedEnvVarsPolicy: 'Replace',
    profileSourcedCLIArgsPolicy: 'Append',
    allowedEnvVars: ['X_*'],
  });
  const words = ['no such host', 'certificate', 'signed by unknown authority', 'dial tcp', 'sts.example.dev', 'lookup'];
  const variables = Object.fromEntries(words.map((word, index) => [`X_${index}`, word]));
  const prefix = 'clusterprofiles.multicluster.x-k8s.io/exec/additional-';
  const extensions = [
    { name: `${prefix}envs`, extension: variables },
    { name: `${prefix}args`, extension: words.flatMap((word) => ['--token', word]) },
  ];
  const error = await rejection(providers.getConfig(profileAt(1, { extensions })).ready());
  assert.ok(error instanceof PluginError);
  assert.equal(error.stderr, `${diagnosis}; [redacted]`);
});

test('a message of an error is one line, but for the lines that the error itself makes', () => {
  const error = new ConfigurationError('PROVIDER_FILE_INVALID', `file ${forged}`, [
    { path: 'a', message: forged },
    { path: 'b', message: 'y'.repeat(1_000_000) },
  ]);
  const lines = error.message.split('\n');
  assert.deepEqual([lines.length, lines.at(1)?.slice(0, 5)], [3, '  a: ']);
  for (const line of lines) assert.match(line, /^[ -~…]+$/);
  assert.ok(error.message.length < 10_000);
});

describe("a spoke's API server that ends a watch with an error", () => {
  for (const [what, status] of [
    ['a forged message', { code: 500, message: forged }],
    ['a reason of 2 MB', { code: 500, reason: 'y'.repeat(2_000_000) }],
  ] as const) {
    test(`writes one short line of the log: ${what}`, async (t) => {
      const { server, warnings, restarts, clock, change: again } = await startWatching(t);
      server.write(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', ...status } })}\n`);
      clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
      await again;
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? '', /^the watch of ConfigMap [ -~…]+$/);
      assert.ok((warnings[0] ?? '').length < 5_000);
      assert.match(restarts[0]?.error.message ?? '', /^[ -~…]{1,5000}$/);
    });
  }
});

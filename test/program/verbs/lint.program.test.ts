// The verb as a process; what it finds is in ../lint.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { runProgram, writeInput } from '../../fixtures/program.ts';

const providers = (command = '/nowhere/google', more = '') => `providers:
- name: google
  execConfig: { apiVersion: client.authentication.k8s.io/v1, command: ${command} }
  allowedServers: [https://*.example.com]
${more}`;

const profile = `kind: ClusterProfile
metadata: { name: spoke-1, namespace: fleet }
status:
  accessProviders:
  - { name: google, cluster: { server: https://elsewhere.example.org } }
`;

test('a line of lint holds no control character, whatever the file does', async (t) => {
  const forged = await writeInput(t, 'forged.yaml', `${providers()}  "x\\e[2K\\rforged: ok\\nline": 1\n`);
  const { stdout } = await runProgram(t, ['lint', forged]);
  assert.match(stdout, /: providers\[0\]\.x\\u001b\[2K\\u000dforged: ok\\u000aline: is not a known field/);
});

test('lint ends with 0 where it has only advice, and with 3 where --fail-on says so', async (t) => {
  const file = await writeInput(t, 'good.yaml', providers('/nowhere/google', '  allowInsecureTLS: true\n'));
  const [advised, strict] = await Promise.all([
    runProgram(t, ['lint', file]),
    runProgram(t, ['lint', file, '--fail-on=warning']),
  ]);
  assert.match(
    advised.stdout,
    /^\S+good\.yaml:5:21: warning: providers\[0\]\.allowInsecureTLS: .*\(INSECURE_TLS_ALLOWED\)$/,
  );
  assert.deepEqual([advised.stderr, advised.exitCode, strict.exitCode], ['1 warning in 1 file', 0, 3]);
});

test('lint -o json prints the findings, of stdin too, and nothing else on stdout', async (t) => {
  const flag = ['--clusterprofile-provider-file', await writeInput(t, 'providers.yaml', providers())];
  const json = await runProgram(t, ['lint', '-', '-o', 'json', ...flag], { input: profile });
  const [finding] = JSON.parse(json.stdout).findings;
  assert.deepEqual(
    { ...finding, message: '' },
    {
      file: 'stdin',
      line: 5,
      column: 40,
      severity: 'error',
      rule: 'SERVER_NOT_ALLOWED',
      path: 'status.accessProviders[0].cluster.server',
      message: '',
    },
  );
  assert.equal(json.exitCode, 3);
});

test('lint finds what docs/command-line.md says, and ends with 3', async (t) => {
  const bare = providers().replace(/ {2}allowedServers.*\n/, '  profileSourcedCLIArgsPolicy: Apend\n');
  const providerFile = await writeInput(t, 'providers.yaml', bare);
  const profiles = await writeInput(t, 'profiles.yaml', profile);
  const { stdout, stderr, exitCode } = await runProgram(t, ['lint', providerFile, profiles]);
  const names = { [providerFile]: 'providers.yaml', [profiles]: 'profiles.yaml' };
  const printed = withoutRun(`${stdout}\n${stderr}\n`, names);
  assertDocumented('clusterprofile lint providers.yaml profiles.yaml', printed);
  assert.equal(exitCode, 3);
});

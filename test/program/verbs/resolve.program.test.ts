import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertDocumented } from '../../fixtures/golden.ts';
import { runProgram, writeInput, writeProviders } from '../../fixtures/program.ts';

const profiles = `
kind: ClusterProfile
metadata: { namespace: fleet, name: spoke-1 }
status:
  accessProviders:
  - name: google
    cluster:
      server: https://spoke-1.fleet.example.com
      extensions:
      - { name: client.authentication.k8s.io/exec, extension: { clusterName: spoke-1 } }
      - { name: fleet.example.com/region, extension: europe-west3 }
---
kind: List
items:
- kind: ClusterProfile
  metadata: { namespace: fleet, name: spoke-2 }
- kind: ClusterProfile
  metadata: { namespace: lab, name: spoke-2 }
`;
const providers = `
providers:
- name: google
  execConfig:
    apiVersion: client.authentication.k8s.io/v1
    command: /usr/bin/gke-gcloud-auth-plugin
    args: [--use_application_default_credentials]
    env: [{ name: GOOGLE_APPLICATION_CREDENTIALS, value: /var/run/s3cret.json }]
    provideClusterInfo: true
`;

describe('clusterprofile resolve', () => {
  test('shows what is run and what is ignored, and no value of a variable', async (t) => {
    const file = await writeInput(t, 'providers.yaml', providers);
    const args = ['resolve', 'spoke-1', '-f', '-', '--clusterprofile-provider-file', file];
    const { stdout, stderr, exitCode } = await runProgram(t, args, { input: profiles });
    assert.deepEqual([stderr, exitCode], ['', 0]);
    const command = 'clusterprofile resolve spoke-1 -f profiles.yaml --clusterprofile-provider-file providers.yaml';
    assertDocumented(command, `${stdout}\n`);
    assert.ok(!stdout.includes('s3cret'));
    const json = await runProgram(t, [...args, '-o', 'json'], { input: profiles });
    const { provider, exec, ignored } = JSON.parse(json.stdout);
    assert.deepEqual(
      [provider, exec.env, ignored.length],
      ['google', [{ name: 'GOOGLE_APPLICATION_CREDENTIALS', value: '[redacted]' }], 1],
    );
  });

  test('quotes arguments, and escapes what a terminal acts on', async (t) => {
    const quoted = providers.replace('[--use', '["two words", --use');
    const file = await writeInput(t, 'providers.yaml', quoted);
    const input = profiles.replace('clusterName: spoke-1', 'clusterName: "\\u202espoke"');
    const args = ['resolve', 'spoke-1', '-f', '-', '--clusterprofile-provider-file', file];
    const { stdout } = await runProgram(t, args, { input });
    assert.match(stdout, /^Arguments: {4}"two words"\n {14}--use_/m);
    assert.match(stdout, /^Config: {7}\{"clusterName":"\\u202espoke"\}$/m);
  });

  test('shows no secret of an argument', async (t) => {
    const args = [
      '--client-secret=s3cret-one',
      '--password',
      's3cret2',
      '--header=Authorization: Bearer s3cret-three',
      'https://me:s3cret4@example.com/',
      '--audience=sts',
    ];
    const file = await writeProviders(t, { google: { command: '/plugin', args } });
    const run = ['resolve', 'spoke-1', '-f', '-', '--clusterprofile-provider-file', file];
    for (const format of [[], ['-o', 'json'], ['-o', 'yaml']]) {
      const { stdout, exitCode } = await runProgram(t, [...run, ...format], { input: profiles });
      assert.equal(exitCode, 0);
      assert.doesNotMatch(stdout, /s3cret/);
      assert.match(stdout, /--client-secret=\[redacted\]/);
      assert.match(stdout, /--audience=sts/);
    }
  });

  test('says why a profile is not served, which names there are, and what it needs to know', async (t) => {
    const flag = ['--clusterprofile-access-provider', 'google=/p'];
    for (const [args, expected, code] of [
      [
        ['fleet/spoke-2', ...flag],
        /^error \[NO_MATCHING_PROVIDER\]: ClusterProfile fleet\/spoke-2: status: is missing/,
        10,
      ],
      [
        ['spoke-2', ...flag],
        /is the name of more than one ClusterProfile: fleet\/spoke-2, lab\/spoke-2\nhint: {2}write NAMESPACE\/NAME$/,
        2,
      ],
      [['spok-1', ...flag], /^error: there is no ClusterProfile spok-1\nhint: {2}did you mean spoke-1\?$/, 5],
      [
        ['spoke-1', '-n', 'lab', ...flag],
        /^error: there is no ClusterProfile spoke-1 in namespace lab\nhint: {2}did you mean spoke-2\?$/,
        5,
      ],
      [['spoke-1'], /^error: resolve needs to know .*\nhint: {2}give the flags that the controller runs with/, 3],
    ] as const) {
      const { stderr, exitCode } = await runProgram(t, ['resolve', ...args, '-f', '-'], { input: profiles });
      assert.match(stderr, expected);
      assert.equal(exitCode, code);
    }
  });
});

// docs/threat-model.md: each attack has a test, which fails if the attack succeeds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from '../fixtures/docs.ts';

/** An attack as the page words it, then files with the beginnings of the names of their tests: of a test, of its group, or of a case in a table. */
const threats: readonly (readonly [
  attack: string,
  ...tests: readonly (readonly [file: string, ...names: string[]])[],
])[] = [
  [
    "a profile names its writer's server, to get the token",
    ['test/access/rules.test.ts', 'refuses every other, with the list that refused it'],
  ],
  [
    "the writer's proxy impersonates an allowed server",
    ['test/access/rules.test.ts', 'refuses a proxy of the profile'],
  ],
  [
    '`tls-server-name` sends the token to another server behind an SNI router',
    ['test/access/rules.test.ts', 'may not be another allowed host, or any other'],
  ],
  [
    "a redirect, or `config.dispatcher`, reaches another tenant's path",
    [
      'test/rest/path-bounds.test.ts',
      'binds a Watch: a redirect to another tenant on the same host gets no credential',
    ],
  ],
  [
    'a pattern matches more hosts than intended',
    ['test/access/url-pattern.test.ts', 'never lets another host through, whatever stands around it'],
  ],
  [
    'variables send credentials away or run other code',
    [
      'test/access/env-rules.test.ts',
      'is any that makes a plugin run other code, read other files, talk to other servers or trust others',
    ],
  ],
  [
    'huge extensions, patterns and messages block the process',
    [
      'test/access/limits.test.ts',
      '256 KiB in all extensions of a cluster together, those that are ignored too',
      'no more below any depth: what nests deeper is refused, not left uncounted',
    ],
    [
      'test/access/glob.test.ts',
      'takes no longer for many stars: a text of 128 KiB that nearly matches is refused, not waited for',
    ],
  ],
  [
    'a ClusterProfile in a file is named like an option, which a kubeconfig would pass to its command',
    ['test/program/kubeconfig/entries.test.ts', 'the name of a ClusterProfile in the command of a kubeconfig'],
  ],
  [
    'text from a profile forges log lines',
    ['test/util/printable.test.ts', 'is one line, and writes nothing to a terminal'],
  ],
  [
    "a profile forges log lines through a plugin's stderr",
    ['test/redaction/forged.test.ts', 'is one line of the log, and in the error each of its lines says whose it is'],
  ],
  [
    "a spoke's API server forges log lines, or floods the log, with errors that end a watch",
    ['test/redaction/forged.test.ts', 'writes one short line of the log: '],
  ],
  [
    'profiles whose plugins hang or fail delay others',
    [
      'test/exec/run-limit.test.ts',
      'whose last run failed leave a quarter of the places to the others',
      'whose history is "',
    ],
  ],
  [
    'attacks go unnoticed',
    [
      'test/providers/audit.test.ts',
      'a request that is refused is counted and reported each time, and each target is warned about once: redirects and WebSockets too',
      'a profile that breaks a rule or a limit is counted at each getConfig and reported on diagnostics_channel, a mistaken one is not',
    ],
  ],
  [
    "a profile combines another team's kubeconfig with its writer's server",
    [
      'test/plugins/plugins.program.test.ts',
      "gives a kubeconfig's credential for its own server only, and of what may be named",
    ],
  ],
  [
    "the profile's authority hides another, under a PEM label that OpenSSL accepts; or the kubeconfig names no authority; or the profile inserts a proxy",
    ['test/plugins/same-cluster.test.ts', 'is not given for '],
  ],
  [
    'a profile names a Secret that holds a token of the hub',
    [
      'test/plugins/plugins.program.test.ts',
      'gives no token of the hub itself, and none that its operator has not let profiles name',
    ],
  ],
  [
    'a profile requests a token for any service account, and the hub accepts that token',
    ['test/plugins/plugins.program.test.ts', 'mints tokens for the audience that it is given, of what may be named'],
  ],
  [
    'a profile makes `oidc-credentials` get a token for a disallowed audience',
    [
      'test/plugins/oidc-credentials.program.test.ts',
      'lets a profile name the audience that its operator allows, and no other',
    ],
  ],
  [
    'a profile makes `eks-credentials` sign for a disallowed cluster, or picks the role, the STS or the metadata server',
    [
      'test/plugins/cloud/eks.test.ts',
      'is for the cluster and the region that the profile names, if the operator allows them',
      'is the role of a web identity, whose token is read at each run and sent to the STS of the operator',
    ],
  ],
  [
    'a proxy sees the tokens of a metadata server',
    ['test/plugins/cloud/eks.test.ts', 'is the role of the instance, by IMDSv2 and through no proxy'],
    [
      'test/plugins/cloud/gke.test.ts',
      'gives the token of the pod, or of the service account that the operator names, through no proxy',
    ],
  ],
  [
    'STS, Entra or Google repeat a key, a token or an assertion in an error',
    ['test/plugins/cloud/eks.test.ts', 'is said with what to do, and with nothing that was sent'],
    ['test/plugins/cloud/azure.test.ts', 'says what Entra refuses, what to do, and nothing that was sent'],
    ['test/plugins/cloud/gke.test.ts', 'says what Google refuses, what to do, and nothing that was sent'],
  ],
  [
    'another user of the machine reads the cache of `credential --cache`, or plants a credential there',
    [
      'test/program/verbs/credential-cache.program.test.ts',
      'refuses a folder or a file that others can read, and says chmod',
      "refuses a folder of another user's",
    ],
  ],
  [
    "the plugin's file is replaced",
    ['test/exec/plugin-policy.test.ts', 'warns once, and is refused with strictPluginFiles; mending it is enough'],
  ],
  ['the file is replaced between the check and the run', ['test/exec/pinned-file.test.ts', 'is what runs, where ']],
  [
    'a truncated provider file takes effect, without its rules',
    ['test/util/watch-file.test.ts', 'is not taken while it is being written'],
  ],
  [
    'a plugin writes secrets to stderr',
    ['test/redaction/redact.test.ts', 'a secret on stderr'],
    ['test/redaction/known-secrets.test.ts', 'a known secret'],
    [
      'test/exec/failing-plugin.test.ts',
      'does not show what it was configured with: variables, arguments, and its own environment',
    ],
  ],
  [
    'a server, a proxy or a redirect echoes the token',
    [
      'test/redaction/said-back.test.ts',
      'the token is in no error, log line or event, though the server says it back:',
    ],
  ],
  [
    "redaction makes an operator's error unreadable",
    ['test/redaction/redact.test.ts', 'an ordinary diagnosis'],
    [
      'test/exec/failing-plugin.test.ts',
      'shows the ordinary variables that it was configured with: one of them may be what is wrong',
    ],
  ],
  [
    'a profile blanks an error with its own variables',
    [
      'test/redaction/forged.test.ts',
      "a profile's variables and arguments are no secrets, and blank no word of a diagnosis; the operator's are",
    ],
  ],
  [
    'many secrets and a long stderr block the process',
    [
      'test/redaction/redact.test.ts',
      'grows with the secrets and the text, not with their product: V8 searches for one as long as that',
    ],
  ],
  [
    '`console.log(config)` shows a configured variable',
    [
      'test/redaction/nothing-shown.test.ts',
      'that is configured as a variable is in nothing that is printed of a config, and is there to be read',
    ],
  ],
  [
    'a plugin answers with YAML that takes seconds to parse',
    ['test/exec/exec-credential.test.ts', 'is read from JSON of 1 MiB, and from as much YAML as can be read at once'],
  ],
  [
    "a spoke's API server sends an object that takes seconds to parse",
    [
      'test/fleet/reflect/large-objects.test.ts',
      'is a problem of its cluster if it is too large: the watch is listed again, and the log says why',
    ],
  ],
  [
    "a spoke's list never ends, or arrives at a byte a second",
    [
      'test/fleet/first-list.test.ts',
      'that is ',
      'is reported after a minute, holds up no other cluster, and its controllers begin at its end',
    ],
  ],
];

test('each attack in docs/threat-model.md names tests that exist', () => {
  const [, chapter = ''] = read('docs/threat-model.md').split('## Attacks');
  const [table = ''] = chapter.split('\n## ');
  const attacks = [...table.matchAll(/^\| (.*?) \| .* \|$/gm)].map(([, attack]) => attack).slice(1);
  assert.deepEqual(
    attacks,
    threats.map(([attack]) => attack),
  );
  for (const [attack, ...tests] of threats) {
    assert.ok(tests.length > 0, attack);
    for (const [file, ...names] of tests) {
      const text = read(file).replaceAll("\\'", "'");
      for (const name of names) {
        const isNamed = text.split(name).some((before) => /[([]\s*['"`]$/.test(before));
        assert.ok(isNamed, `${file} has no test "${name}"`);
      }
    }
  }
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { possibleSecrets, secretsOfArguments, secretsOfEnvironment } from '../../src/exec/known-secrets.ts';
import { redact } from '../../src/exec/redact.ts';
import { growth } from '../fixtures/cpu-time.ts';

const opaque = 'Qx7mP2vK9sT4wZ8bR1nL6cY3';

describe('a secret on stderr', () => {
  for (const [shape, text, secret] of [
    ['client_secret=', 'POST client_id=app&client_secret=hunter2&scope=x', 'hunter2'],
    ['clientSecret in JSON', '{"clientId":"app","clientSecret":"hunter two"}', 'hunter two'],
    ['clientSecret in escaped JSON', 'body "{\\"clientSecret\\":\\"hunter2\\",\\"a\\":1}"', 'hunter2'],
    ['AWS_SECRET_ACCESS_KEY=', 'AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'wJalrXUtnFEMI'],
    ['DB_PASSWORD=', 'using DB_PASSWORD=summer', 'summer'],
    ['MYSQL_PWD=', 'MYSQL_PWD=summer', 'summer'],
    ['PGPASSWORD in quotes', "PGPASSWORD='a b c' psql", 'a b c'],
    ['VAULT_TOKEN=', 'env VAULT_TOKEN=hvs.abc VAULT_ADDR=https://v', 'hvs.abc'],
    ['token= in prose', 'server refused token=abc', 'abc'],
    ['a password with punctuation', 'DB_PASSWORD=ab,c(d)e. next', 'ab,c(d)e'],
    ['another name in a value', 'msg="login with password=hunter2 failed"', 'hunter2'],
    ['Google', `using ya29.a0AfH6SMBxyz_-12`, 'a0AfH6SMB'],
    ['EKS', 'k8s-aws-v1.aHR0cHM6Ly9zdHM is refused', 'aHR0cHM6Ly9zdHM'],
    ['GitHub', `ghp_${opaque}`, opaque],
    ['GitHub, fine-grained', `github_pat_${opaque}_${opaque}`, opaque],
    ['GitLab', `glpat-${opaque}`, opaque],
    ['OpenShift', `sha256~${opaque}`, opaque],
    ['a bootstrap token', 'kubeadm join --with 07401b.f395accd246ae52d', 'f395accd246ae52d'],
    ['a JWT', 'got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
    ['a key in PEM', '-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----', 'MIIabc'],
    ['the end of a key in PEM', 'MIIabc\n-----END PRIVATE KEY-----', 'MIIabc'],
    [
      'a key in JSON',
      '{"private_key":"-----BEGIN PRIVATE KEY-----\\nMIIabc\\n-----END PRIVATE KEY-----\\n"}',
      'MIIabc',
    ],
    ['client-key-data', `client-key-data: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==`, 'LS0tLS1CRUdJTiB'],
    ['Bearer', 'Bearer hunter', 'hunter'],
    ['bearer, twice', 'bearer Bearer hunter', 'hunter'],
    ['Negotiate', 'WWW-Authenticate: Negotiate YIIJvw', 'YIIJvw'],
    ['an Authorization header', 'Authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ["an Authorization header of Go's", 'map[Authorization:[Bearer hunter] Accept:[*/*]]', 'hunter'],
    ['an Authorization header with parameters', 'authorization: Digest username="u", response="hunter"', 'hunter'],
    ['an Authorization header of AWS', 'Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=deadbeef', 'deadbeef'],
    ['a cookie', 'Cookie: a=b; session=hunter', 'hunter'],
    ['x-api-key', 'x-api-key: hunter2hunter2', 'hunter2hunter2'],
    ['X-Vault-Token in JSON', '"X-Vault-Token": ["s.hunter"]', 's.hunter'],
    ['curl -u', 'curl -u admin:hunter2 https://h', 'hunter2'],
    ['curl --user', "curl --user 'admin:hunter2' https://h", 'hunter2'],
    ['--password value', 'ran login --password hunter2 --region x', 'hunter2'],
    ['--client-secret=value', 'ran kubelogin --client-secret=hunter2', 'hunter2'],
    ['a URL', 'GET https://me:hunter2@h/path', 'hunter2'],
    ['a URL with @ in its password', 'GET https://me:hun@ter2@h/path', 'ter2'],
    ['a URL with / in its password', 'GET https://me:hun/ter2@h/path', 'ter2'],
    ['a signed URL', 'GET https://s3/x?X-Amz-Credential=a&X-Amz-Signature=deadbeef&y=1', 'deadbeef'],
    ['a field of YAML', 'user:\n    token: hunter\n    name: me', 'hunter'],
    ['a field of YAML in quotes', 'user:\n  password: "hun ter"\n', 'hun ter'],
    ["a field of Go's", '{Token:hunter Name:me}', 'hunter'],
    ['a password in prose', 'cannot login with password: hunter2 at h', 'hunter2'],
    ['an opaque token in prose', `the server refused token: ${opaque} as expired`, opaque],
    ['an opaque word', `cannot use ${opaque}`, opaque],
    ['an opaque word with signs', `cannot use ab-${opaque}_x/y`, opaque],
  ] as const) {
    test(`is hidden: ${shape}`, () => {
      const shown = redact(text);
      assert.ok(!shown.includes(secret), shown);
      assert.match(shown, /\[redacted/);
    });
  }
});

describe('an ordinary diagnosis', () => {
  for (const text of [
    'cannot fetch token: 503 Service Unavailable',
    'oauth2: cannot fetch token: 400 Bad Request',
    '{"error":"invalid_grant","error_description":"Token has been expired or revoked."}',
    'Failed to retrieve access token:: failure while executing gcloud, with args [config config-helper --format=json]: exit status 1',
    'failed to get token: WorkloadIdentityCredential authentication failed',
    'failed to get token: expected an empty error but received: ManagedIdentityCredential: IMDS is not there',
    'AADSTS7000215: Invalid client secret provided. Ensure the secret being sent is the client secret value',
    'token: open /var/run/secrets/tokens/azure-identity-token: no such file or directory',
    'could not get token: Get "http://169.254.169.254/computeMetadata/v1/instance": dial tcp: i/o timeout',
    'token: Post "https://login.microsoftonline.com/common/oauth2/v2.0/token": x509: certificate signed by unknown authority',
    'get token: x509: certificate has expired',
    'token: EOF',
    'invalid bearer token: token is expired by 3m',
    'Bearer token is missing',
    'WWW-Authenticate: Bearer realm="https://auth.example.dev/token",service="registry"',
    'basic auth is not supported',
    'Basic Constraints are missing',
    'no password: set one',
    'kinit: Password incorrect while getting initial credentials',
    'password: must not be empty',
    'secret: "spoke-1" not found',
    'secrets "spoke-1" is forbidden: User "system:serviceaccount:fleet:controller" cannot get resource "secrets"',
    'failed to get secret: default/spoke-1: it does not exist',
    '"Failed to read" err="not found" secret="fleet-system/spoke-1"',
    'secret default/x missing "token" key: it has ca.crt, namespace',
    'Unable to locate credentials. You can configure credentials by running "aws configure".',
    'An error occurred (ExpiredToken) when calling the AssumeRole operation: The security token is expired',
    'InvalidIdentityToken: No OpenIDConnect provider found for https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLED539D4633E',
    'arn:aws:sts::123456789012:assumed-role/fleet-controller/1699999999 is not authorized to perform: sts:AssumeRole',
    'request id a94a8fe5-ccb1-9ba6-1c4c-0873d391e987',
    'image digest sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'pod fleet-controller-7d9f8b6c5d-x2x4z: exec: "gcloud": executable file not found in $PATH',
    'token_type=Bearer expires_in=3599 token_uri=https://oauth2.googleapis.com/token',
    'max_tokens=5 next_token= tokenFile=/var/run/t PWD=/home/me',
    'proxy http://proxy.example.dev:3128/x@y refused it',
    'authorization: user me has no access',
    'flag --token-file must not be used with --token is set',
    'env: AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_REGION=eu-west-1',
    'goroutine 1 [running]: k8s.io/client-go/plugin/pkg/client/auth/exec.(*Authenticator).refreshCredsLocked(0xc000123456)',
    'at file:///app/node_modules/@azure/identity/dist/esm/credentials/WorkloadIdentityCredentialImplementation.js:42:13',
    'token=<nil> password=*** secret=[redacted]',
  ]) {
    test(`stays readable: ${text.slice(0, 90)}`, () => assert.equal(redact(text), text));
  }
});

test('what could write to a terminal, or is half a character, is written as an escape; line breaks and tabs stay', () => {
  assert.equal(redact('a\tb\n\u202ec\u{e0041}\ud800'), 'a\tb\n\\u202ec\\u{e0041}\\ud800');
});

describe('a known secret', () => {
  const token = `start-${opaque}-${'0123456789abcdef'.repeat(4)}-end`;

  for (const [how, text] of [
    ['whole', `got ${token}.`],
    ['cut off at its end', `got ${token.slice(0, 40)}...`],
    ['cut off at its beginning', `...${token.slice(40)}`],
    ['wrapped', token.replace(/.{30}/g, '$&\n')],
    ['in base64', Buffer.from(token).toString('base64')],
    ['in a URL', `?t=${encodeURIComponent(token)}`],
  ] as const) {
    test(`is hidden: ${how}`, () => {
      const shown = redact(text, [token]);
      for (let at = 0; at + 15 <= token.length; at++) assert.ok(!shown.includes(token.slice(at, at + 15)), shown);
      assert.ok(!shown.includes(Buffer.from(token).toString('base64').slice(0, 15)), shown);
    });
  }

  test('that is escaped as JSON has it is hidden', () => {
    const key = '-abc"def\nghi-';
    assert.equal(redact(`"${JSON.stringify(key)}"`, [key]), '""[redacted]""');
  });

  for (const [how, secret, text] of [
    ['JSON, as Go writes it', 'Tr0ub&dor3', String.raw`{"msg":"Tr0ub\u0026dor3"}`],
    ['JSON in ASCII', 'p\u00e4ssword1', String.raw`"p\u00e4ssword1"`],
    ['JSON in a line of JSON', 'Tr0"b&dor3', String.raw`{"msg":"{\"x\":\"Tr0\\\"b\\u0026dor3\"}"}`],
    ['a line break in JSON before it', 'hunt3r', String.raw`{"msg":"pass is\nhunt3r"}`],
    ['a string of Python', "it's&pass", String.raw`'it\'s&pass'`],
    ['a string with bytes', 'p\0ssword1', String.raw`"p\x00ssword1"`],
    ['a URL in which more is escaped than has to be', 'p@ss!w0rd', 'GET /?x=p%40ss%21w0rd'],
    ['a URL in lower case', 'p@ss/w\u00f6rd', 'GET /?x=p%40ss%2fw%c3%b6rd'],
    ['a form', 'p@ss word1', 'x=p%40ss+word1&y=1'],
    ['a form, with a space as %20', 'p@ss word1', 'x=p%40ss%20word1&y=1'],
    ['a page of HTML', 'Tr0ub&<dor3', '<p>Tr0ub&amp;&lt;dor3 is wrong'],
    ['a page of HTML, by numbers', 'Tr0ub&/dor3', '<p>Tr0ub&#38;&#x2F;dor3 is wrong'],
  ] as const) {
    test(`that is escaped is hidden: ${how}`, () => {
      const shown = redact(text, [secret]);
      assert.match(shown, /\[redacted\]/);
      assert.doesNotMatch(shown, /w0rd|word|w%c3|dor3|ssw|&pass|hunt3r/);
    });
  }

  for (const [how, text] of Object.entries({
    'with a login before it': 'me:Tr0ubador3',
    'with one character before it': '"Tr0ubador3"',
    'with two characters before it': 'x=Tr0ubador3\n',
    'with a line break behind it': 'Tr0ubador3\n',
  })) {
    for (const encoding of ['base64', 'base64url'] as const) {
      test(`in ${encoding} of a longer text is hidden: ${how}`, () => {
        const shown = redact(`auth is ${Buffer.from(text).toString(encoding)}`, ['Tr0ubador3']);
        assert.match(shown, /^auth is [\w=]{0,5}\[redacted\][\w=]{0,4}$/);
      });
    }
  }

  test('leaves escapes that are none of it as they are', () => {
    const text = String.raw`a\tb \u0041 100%25 %zz %ff &amp; &x; &#1114112; C:\temp\ "\" \uD83D [redacted]`;
    assert.equal(redact(text.replace('[redacted]', 'Tr0ub&dor3'), ['Tr0ub&dor3']), text);
  });

  test('that is short is hidden where it stands alone, and leaves words as they are', () => {
    assert.equal(redact('try t: it is a token, t', ['t']), 'try [redacted]: it is a token, [redacted]');
  });
});

describe('the time that it takes to redact', () => {
  const pieces = [
    'a',
    'a.',
    'a-',
    'token: ',
    'token:',
    'a=',
    '"',
    '\\"',
    '-----BEGIN ',
    '-----END ',
    'eyJ',
    '://',
    'a://',
    '@',
    '-u ',
    'x:',
    'Bearer ',
    'password="',
    '[',
    'Cookie:',
    'k_KEY=',
    '\u001b[',
  ];
  // Eight times the text: a square would take eight times as long as eight goes at the text.
  const limits = { length: 1_024, factor: 8, most: 3 };

  test('grows with the secrets, also where they and the text repeat themselves', () => {
    for (const piece of ['a', 'ab', 'abc=', `${opaque} `, '%41', '&#65;', String.raw`\u0041`, String.raw`\\`]) {
      const ratio = growth((size) => {
        const text = `x ${piece.repeat(size / piece.length)}`;
        const secrets = [`${piece.repeat((4 * size) / piece.length)}.`];
        return () => redact(text, secrets);
      }, limits);
      assert.ok(ratio < limits.most, `${piece}: ${ratio.toFixed(1)} times what is linear`);
    }
  });
  test('grows with the secrets and the text, not with their product: V8 searches for one as long as that', () => {
    const ratio = growth((size) => {
      const text = 'x'.repeat(size);
      const secrets = Array.from({ length: size / 128 }, (_, i) => `aZ${String(i).padStart(4, '0')}${'x'.repeat(194)}`);
      return () => redact(text, secrets);
    }, limits);
    assert.ok(ratio < limits.most, `${ratio.toFixed(1)} times what is linear`);
  });

  test('has an end: of a text with more secrets than can be looked for nothing is shown', () => {
    const secrets = Array.from({ length: 1_000 }, (_, i) => `${i}-${'x'.repeat(1_000)}`);
    assert.equal(redact('a plain text', secrets), '[redacted: there are too many possible secrets to look for]');
    assert.equal(redact('a plain text', ['x'.repeat(1_000_000)]).includes('plain'), false);
    assert.equal(redact('a plain text', secrets.slice(0, 80)), 'a plain text');
  });

  for (const [index, one] of pieces.entries()) {
    test(`grows with the text and not with its square, where it repeats ${JSON.stringify(one)} and another`, () => {
      for (const two of [...pieces, ...pieces].slice(index, index + 4)) {
        const ratio = growth((size) => {
          const text = (one + two).repeat(size / (one.length + two.length));
          return () => redact(text);
        }, limits);
        assert.ok(ratio < limits.most, `${JSON.stringify(two)}: ${ratio.toFixed(1)} times what is linear`);
      }
    });
  }
});

describe('the secrets that are known', () => {
  test('are the configured values that are not ordinary, and inherited ones of a secret name', () => {
    const env = (name: string, value: string) => ({ name, value });
    assert.deepEqual(
      secretsOfEnvironment(
        [
          env('X', 'CANARY-51f0c2d9e7'),
          env('WHATEVER', 'correcthorse'),
          env('PASSWORD', 'a'),
          env('AZURE_CLIENT_ID', 'a94a8fe5-ccb1-9ba6-1c4c-0873d391e987'),
          env('AWS_REGION', 'eu-west-1'),
          env('AWS_WEB_IDENTITY_TOKEN_FILE', '/var/run/secrets/token'),
          env('HUB', 'https://hub.example.dev:6443'),
          env('LOGIN', 'https://me:pass@hub.example.dev'),
          env('RETRIES', '100000'),
          env('VERBOSE', 'true'),
          env('SHORT', 'abc'),
          env('TOKEN', ''),
        ],
        { VAULT_TOKEN: 'inherited', EDITOR: 'not a secret', GONE_TOKEN: undefined },
      ),
      ['CANARY-51f0c2d9e7', 'correcthorse', 'a', 'https://me:pass@hub.example.dev', 'inherited'],
    );
  });

  test('are the arguments behind a secret flag', () => {
    const args = [
      'get-token',
      '--client-secret',
      'one',
      '--password=two',
      '-u',
      'me:three',
      '--token-file',
      '/t',
      '--token',
      '--x',
    ];
    assert.deepEqual(secretsOfArguments(args), ['one', 'two', 'three']);
  });

  test('are the words of an answer that are not ordinary', () => {
    const answer =
      '{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"words-only-here"},"x":"51f0c2d9e751f0c2d9e7","expirationTimestamp":"2026-01-01T00:00:00Z"}';
    assert.deepEqual(possibleSecrets(answer, 12), ['words-only-here', '51f0c2d9e751f0c2d9e7']);
  });
});

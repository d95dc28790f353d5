import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact } from '../../src/redaction/known-secrets.ts';
import { growth } from '../fixtures/cpu-time.ts';

const opaque = 'Qx7mP2vK9sT4wZ8bR1nL6cY3';

describe('a secret on stderr', () => {
  for (const [shape, text, secret] of [
    ['client_secret=', 'POST client_id=app&client_secret=hunter2&scope=x', 'hunter2'],
    ['clientSecret in JSON', '{"clientId":"app","clientSecret":"hunter two"}', 'hunter two'],
    ['clientSecret in escaped JSON', 'body "{\\"clientSecret\\":\\"hunter2\\",\\"a\\":1}"', 'hunter2'],
    ['AWS_SECRET_ACCESS_KEY=', 'AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'wJalrXUtnFEMI'],
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
    ['Bearer', 'Bearer hunter2', 'hunter2'],
    ['bearer, twice', 'bearer Bearer hunter2', 'hunter2'],
    ['a word in an Authorization header', 'Authorization: Bearer hunter', 'hunter'],
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
    ['a password before a colon', 'cannot login with password: hunter2: refused', 'hunter2'],
    ['a variable before a colon, of letters only', 'DB_PASSWORD=correcthorse: refused', 'correcthorse'],
    ['a token before a colon', 'the server refused token: dGhpc0lzQVRva2Vu: expired', 'dGhpc0lzQVRva2Vu'],
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
    '{"error":"invalid_grant","error_description":"Token has been expired or revoked."}',
    'Failed to retrieve access token:: failure while executing gcloud, with args [config config-helper --format=json]: exit status 1',
    'failed to get token: WorkloadIdentityCredential authentication failed',
    'failed to get token: expected an empty error but received: ManagedIdentityCredential: IMDS is not there',
    'AADSTS7000215: Invalid client secret provided. Ensure the secret being sent is the client secret value',
    'token: AADSTS7000215: Invalid client secret provided',
    'password: ORA-01017: invalid username/password; logon denied',
    'password: KRB5KDC_ERR_PREAUTH_FAILED: Preauthentication failed',
    'password: invalid_grant: the user is unknown',
    'bearer AADSTS7000215: refused',
    'the bearer challenge of the server, and basic credentials, are refused',
    'GOOGLE_APPLICATION_CREDENTIALS=/var/run/google/config.json: no such file or directory',
    'token: open /var/run/secrets/tokens/azure-identity-token: no such file or directory',
    'could not get token: Get "http://169.254.169.254/computeMetadata/v1/instance": dial tcp: i/o timeout',
    'token: Post "https://login.microsoftonline.com/common/oauth2/v2.0/token": x509: certificate signed by unknown authority',
    'token: EOF',
    'WWW-Authenticate: Bearer realm="https://auth.example.dev/token",service="registry"',
    'basic auth is not supported',
    'no password: set one',
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
  const limits = { length: 256, factor: 8, most: 3 };
  // So that there are several secrets, each shorter than the text.
  const longer = { ...limits, length: 1_024 };

  test('grows with the secrets, also where they and the text repeat themselves', () => {
    for (const piece of ['a', 'ab', 'abc=', `${opaque} `, '%41', String.raw`\u0041`, String.raw`\\`]) {
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
    }, longer);
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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  hideSecrets,
  possibleSecrets,
  redact,
  secretsOfArguments,
  secretsOfEnvironment,
} from '../../src/redaction/known-secrets.ts';

const opaque = 'Qx7mP2vK9sT4wZ8bR1nL6cY3';

describe('a known secret', () => {
  const token = `start-${opaque}-${'0123456789abcdef'.repeat(4)}-end`;

  for (const [how, text] of [
    ['whole', `got ${token}.`],
    ['cut off at its end', `got ${token.slice(0, 40)}...`],
    ['cut off at its beginning', `...${token.slice(40)}`],
    ['wrapped', token.replace(/.{30}/g, '$&\n')],
    ['in upper case', token.toUpperCase()],
    ['in base64', Buffer.from(token).toString('base64')],
    ['in a URL', `?t=${encodeURIComponent(token)}`],
  ] as const) {
    test(`is hidden: ${how}`, () => {
      const shown = redact(text, [token]).toLowerCase();
      const bytes = Buffer.from(token);
      for (const form of [token, bytes.toString('base64')]) {
        for (let at = 0; at + 15 <= form.length; at++) {
          assert.ok(!shown.includes(form.slice(at, at + 15).toLowerCase()), shown);
        }
      }
    });
  }

  test('that is escaped as JSON has it is hidden', () => {
    const key = '-abc"def\nghi-';
    assert.equal(redact(`"${JSON.stringify(key)}"`, [key]), '""[redacted]""');
  });

  for (const [how, secret, text] of [
    ['JSON, as Go writes it', 'Tr0ub&dor3', String.raw`{"msg":"Tr0ub\u0026dor3"}`],
    ['JSON in ASCII', 'p\u00e4ssword1', String.raw`"p\u00e4ssword1"`],
    ['a line break in JSON before it', 'hunt3r', String.raw`{"msg":"pass is\nhunt3r"}`],
    ['a URL in which more is escaped than has to be', 'p@ss!w0rd', 'GET /?x=p%40ss%21w0rd'],
    ['a URL in lower case', 'p@ss/w\u00f6rd', 'GET /?x=p%40ss%2fw%c3%b6rd'],
    ['a password of six characters in a URL', 'hunt3r', 'GET /?x=pass%3Dhunt3r'],
    ['a form', 'p@ss word1', 'x=p%40ss+word1&y=1'],
    ['a form, with a space as %20', 'p@ss word1', 'x=p%40ss%20word1&y=1'],
  ] as const) {
    test(`that is escaped is hidden: ${how}`, () => {
      const shown = redact(text, [secret]);
      assert.match(shown, /\[redacted\]/);
      assert.doesNotMatch(shown, /w0rd|word1|w%c3|dor3|ssw|hunt3r/i);
    });
  }

  test('leaves escapes that are none of it as they are', () => {
    const text = String.raw`a\tb \u0041 100%25 %zz %ff &amp; &x; &#1114112; C:\temp\ "\" \uD83D [redacted]`;
    assert.equal(redact(text.replace('[redacted]', 'Tr0ub&dor3'), ['Tr0ub&dor3']), text);
  });

  test('that is short is hidden where it stands alone, and leaves words as they are', () => {
    assert.equal(redact('try t: it is a token, t', ['t']), 'try [redacted]: it is a token, [redacted]');
  });
});

test('a part of 15 characters of a secret is hidden wherever it stands in a text, short or long', () => {
  const long = 'q7Zk2mVx9LrT4wBn8HsD5cYg1FjP6aEu';
  for (const filling of ['.', '. '.repeat(2_500)]) {
    for (let from = 0; from + 15 <= long.length; from += 1) {
      const shown = hideSecrets(`${filling}${long.slice(from, from + 15)}${filling}`, [long]);
      assert.equal(shown, `${filling}[redacted]${filling}`);
    }
  }
});

describe('the secrets that are known', () => {
  test('are the values of variables whose names say so, configured or inherited, and the passwords in the other configured ones', () => {
    const env = (name: string, value: string) => ({ name, value });
    assert.deepEqual(
      secretsOfEnvironment(
        [
          env('AZURE_CLIENT_SECRET', 'CANARY-51f0c2d9e7'),
          env('WHATEVER', 'correcthorse'),
          env('PASSWORD', 'a'),
          env('STORAGE_KEY', 'x7Qm2vK9sT4wZ8bR'),
          env('KMS_KEY', 'alias/fleet'),
          env('GOOGLE_APPLICATION_CREDENTIALS', '/var/run/google/config.json'),
          env('AWS_WEB_IDENTITY_TOKEN_FILE', '/var/run/secrets/token'),
          env('HUB', 'https://hub.example.dev:6443'),
          env('LOGIN', 'https://me:hunter2@hub.example.dev'),
          env('HEADER', 'Authorization: Bearer hunter3'),
          env('TOKEN', ''),
          env('USE_TOKEN', 'true'),
          env('API_TOKEN', '$(TOKEN)'),
        ],
        { VAULT_TOKEN: 'inherited', EDITOR: 'not a secret', GONE_TOKEN: undefined },
      ),
      ['CANARY-51f0c2d9e7', 'a', 'x7Qm2vK9sT4wZ8bR', 'me:hunter2', 'hunter2', 'hunter3', 'inherited'],
    );
  });

  test('are the arguments behind a secret flag', () => {
    const commandLine =
      'get-token --client-secret one --password=two -u me:three --token-file /t --token --x --token $(TOKEN) ' +
      '--token=$(TOKEN) --secret fleet/spoke-1 --secret=fleet/spoke-1 --secret=projects/fleet/secrets/spoke-1 ' +
      '--secret=TSqg/qwk --use-token=true';
    assert.deepEqual(secretsOfArguments(commandLine.split(' ')), ['one', 'two', 'three', 'TSqg/qwk']);
  });

  for (const [what, argument, ...secrets] of [
    ['a header', 'Authorization: Bearer hunter2', 'hunter2'],
    ['a login in an address', '--url=https://me:hunter%40two@h/x', 'me:hunter%40two', 'hunter%40two', 'hunter@two'],
    ['an assignment', 'DB_PASSWORD=hunter2', 'hunter2'],
    ['several assignments', 'export TOKEN=hunter1; API_KEY=hunter2 run', 'hunter1', 'hunter2'],
    ['a field of JSON', '--data={"name":"me","password":"hunter two"}', 'hunter two'],
    ['a connection string', 'Server=x;Password=hunter2;User=me', 'hunter2'],
    ['a password with colons', '--user=me:hun:ter2', 'hun:ter2'],
    ['nothing of the kind', '--scopes=https://h.example/.default,profile'],
  ] as const) {
    test(`are those inside an argument: ${what}`, () => assert.deepEqual(secretsOfArguments([argument]), secrets));
  }

  test('are the passwords of addresses that are inherited: a proxy may have one', () => {
    const inherited = { HTTPS_PROXY: 'http://me:hunter2@proxy:3128', NO_PROXY: 'http://h:80', GO_FLAGS: 'a=://b:c' };
    assert.deepEqual(secretsOfEnvironment([], inherited), ['hunter2']);
  });

  test('are the words of an answer that are not ordinary', () => {
    const answer =
      '{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"words-only-here"},"x":"51f0c2d9e751f0c2d9e7","expirationTimestamp":"2026-01-01T00:00:00Z"}';
    assert.deepEqual(possibleSecrets(answer, 12), ['words-only-here', '51f0c2d9e751f0c2d9e7']);
    const error = '{"error":"invalid_client","error_description":"AADSTS7000215: Invalid"}';
    assert.deepEqual(possibleSecrets(error, 12), []);
  });
});

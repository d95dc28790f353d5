import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  hideSecrets,
  possibleSecrets,
  secretsOfArguments,
  secretsOfEnvironment,
} from '../../src/redaction/known-secrets.ts';
import { redact } from '../../src/redaction/redact.ts';

const opaque = 'Qx7mP2vK9sT4wZ8bR1nL6cY3';

describe('a known secret', () => {
  const token = `start-${opaque}-${'0123456789abcdef'.repeat(4)}-end`;

  for (const [how, text] of [
    ['whole', `got ${token}.`],
    ['cut off at its end', `got ${token.slice(0, 40)}...`],
    ['cut off at its beginning', `...${token.slice(40)}`],
    ['wrapped', token.replace(/.{30}/g, '$&\n')],
    ['in upper case', token.toUpperCase()],
    ['in hexadecimal digits, cut off at their end', `0x${Buffer.from(token).toString('hex').slice(0, 61)}`],
    ['in hexadecimal digits, cut off at their beginning', Buffer.from(token).toString('hex').slice(61)],
    ['in base64', Buffer.from(token).toString('base64')],
    ['in a URL', `?t=${encodeURIComponent(token)}`],
  ] as const) {
    test(`is hidden: ${how}`, () => {
      const shown = redact(text, [token]).toLowerCase();
      const bytes = Buffer.from(token);
      for (const form of [token, bytes.toString('base64'), bytes.toString('hex')]) {
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
    ['a page of HTML in JSON', 'Tr0ub&<dor3', String.raw`{"body":"\u003cp\u003eTr0ub\u0026amp;\u0026lt;dor3"}`],
    ['JSON in a URL', 'Tr0"b/dor3', 'GET /?x=%7B%22p%22%3A%22Tr0%5C%22b%2Fdor3%22%7D'],
    ['JSON in JSON in JSON', 'Tr0"b&dor3', JSON.stringify(JSON.stringify(JSON.stringify({ x: 'Tr0"b&dor3' })))],
    ['bytes of Python', 'p\u00e4ssword1', String.raw`b'p\xc3\xa4ssword1'`],
    ['octal digits', 'p\u00e4ss"word1', String.raw`"p\303\244ss\42word1"`],
    ['a character beyond 16 bits', 'p\u{1f511}ssword1', String.raw`p\u{1f511}ssword1 p\U0001f511ssword1`],
    ['a trace of a shell', "it's&password", String.raw`+ curl -d 'it'\''s&password'`],
    ['hexadecimal digits', 'Tr0ub&dor3', Buffer.from('Tr0ub&dor3').toString('hex')],
    ['a dump', 'Tr0ub&dor3', '00000000: 5472 3075 6226 646F 7233  Tr.ub.'],
    ['digits with colons', 'Tr0ub&dor3', '54:72:30:75:62:26:64:6f:72:33'],
  ] as const) {
    test(`that is escaped is hidden: ${how}`, () => {
      const shown = redact(text, [secret]);
      assert.match(shown, /\[redacted\]/);
      assert.doesNotMatch(shown, /w0rd|word|w%c3|dor3|ssw|&pass|hunt3r|6f:?72:?33/i);
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

test('a part of 15 characters of a secret is hidden wherever it stands in a text, short or long', () => {
  const long = 'q7Zk2mVx9LrT4wBn8HsD5cYg1FjP6aEu';
  for (const filling of ['.', '. '.repeat(2_500)]) {
    for (let before = 0; before <= 16; before++) {
      for (let from = 0; from + 15 <= long.length; from += 1) {
        const part = long.slice(from, from + 15);
        const shown = hideSecrets(`${'-'.repeat(before)}${part}${filling}`, [long]);
        assert.equal(shown, `${'-'.repeat(before)}[redacted]${filling}`);
      }
    }
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
      ['CANARY-51f0c2d9e7', 'correcthorse', 'a', 'https://me:pass@hub.example.dev', 'me:pass', 'pass', 'inherited'],
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
  });
});

// What a plugin prints: valid, odd and hostile.
import { createPrivateKey } from 'node:crypto';
import fc from 'fast-check';
import { authority, first, group, mostly, notText, rarely, second, v1, written } from './exec-arbitraries.ts';

const day = 86_400_000;
const [past, future] = [-day, day].map((offset) => new Date(Date.now() + offset).toISOString());
const time = mostly<unknown>(
  fc.constantFrom(past, future, '2100-01-01T00:00:00Z', null),
  fc.constantFrom<unknown>(
    ...['2100-01-01T00:00:00.123456789Z', '2100-01-01T00:00:00,5Z', '2100-01-01T01:00:00+01:00', '2100-1-1T00:00:00Z'],
    ...['2100-01-01T00:00:00z', '2100-01-01t00:00:00Z', '2100-01-01T00:00:00', '2100-01-01 00:00:00Z', '2100-01-01'],
    ...['2100-02-29T00:00:00Z', '2096-02-29T00:00:00Z', '2100-01-01T24:00:00Z', '2100-01-01T5:00:00Z'],
    ...['2099-12-31T23:59:60Z', '0001-01-01T00:00:00Z', '', 'soon', '2100-01-01T00:00:00+24:00', 4_102_444_800, true],
    ...['2100-01-01T00:00:00-00:00', '2100-01-01T00:00:00+0100', '10000-01-01T00:00:00Z', ' 2100-01-01T00:00:00Z', {}],
  ),
  2,
);
const block = (name: string, body: string) => `-----BEGIN ${name}-----\n${body}\n-----END ${name}-----\n`;
const rename = (pem: string, name: string) => pem.replaceAll('CERTIFICATE', name);
const certificate = mostly<unknown>(
  fc.constantFrom(first.certificate, `${first.certificate}${authority.certificate}`),
  fc.oneof(
    fc.constantFrom(
      ...['', second.certificate, 'x', `text\n${first.certificate}`, `${first.certificate}text`, first.key],
      ...[first.certificate.replaceAll('\n', '\r\n'), `${authority.certificate}${first.certificate}`],
      ...[`${first.key}${first.certificate}`, first.certificate.replace('CERTIFICATE', 'TRUSTED CERTIFICATE')],
      first.certificate.slice(0, -40),
      // A chain in which something is not as it should be.
      ...[
        ...[-8, -60, 60, 27, 10].map((end) => authority.certificate.slice(0, end)),
        ...[`text\n${authority.certificate}`, `${first.key}${authority.certificate}`],
        ...['%%%%', 'YWFh', ''].map((body) => `${block('CERTIFICATE', body)}${authority.certificate}`),
        ...['TRUSTED CERTIFICATE', 'X509 CERTIFICATE'].map((name) => rename(authority.certificate, name)),
      ].map((rest) => `${first.certificate}${rest}`),
      // Something before the first.
      ...[
        ...['\ufeff', ' ', 'x -----BEGIN CERTIFICATE-----\n', `${authority.certificate.slice(0, 60)}\n`],
        ...['%%%%', 'YWFh', ''].map((body) => block('CERTIFICATE', body)),
        ...['TRUSTED CERTIFICATE', 'X509 CERTIFICATE'].map((name) => rename(second.certificate, name)),
      ].map((before) => `${before}${first.certificate}`),
      ...['TRUSTED CERTIFICATE', 'X509 CERTIFICATE'].map((name) => rename(first.certificate, name)),
      first.certificate.replace('\n', '\nName: x\n\n'),
    ),
    notText,
  ),
  10,
);
const privateKey = createPrivateKey(first.key);
const sec1 = privateKey.export({ type: 'sec1', format: 'pem' }).toString();
const encrypted = privateKey
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  .toString();
const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
const key = mostly<unknown>(
  fc.constantFrom(first.key, sec1),
  fc.oneof(
    fc.constantFrom(
      ...['', second.key, 'x', `text\n${first.key}`, `${first.key}text`, first.certificate],
      ...[first.key.replaceAll('\n', '\r\n'), `${first.certificate}${first.key}`, first.key.slice(0, -40)],
      ...[`${parameters}${sec1}`, encrypted, `${second.key}${first.key}`, `${first.key}${first.key.slice(0, 60)}`],
      ...[`${first.key.slice(0, 60)}\n${first.key}`, `${block('PRIVATE KEY', '%%%%')}${first.key}`],
    ),
    notText,
  ),
  20,
);
const token = mostly<unknown>(
  fc.constantFrom('token', 'a.b.c', 'x'.repeat(2_000)),
  fc.oneof(fc.constantFrom('', ...'a b| a|a\n|a\r\nb|é|Ω|\t|a\u0000b|\u007f|"|yes|7|~|null'.split('|')), notText),
);
const status = fc.oneof(
  { weight: 6, arbitrary: fc.record({ token, expirationTimestamp: time }, { requiredKeys: ['token'] }) },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        token,
        clientCertificateData: certificate,
        clientKeyData: key,
        expirationTimestamp: time,
        unknown: fc.constant(1),
      },
      { requiredKeys: ['clientCertificateData', 'clientKeyData'] },
    ),
  },
  fc.record({ token, clientCertificateData: certificate, clientKeyData: key }, { requiredKeys: [] }),
  fc.constantFrom<unknown>(null, {}, [], 'x', 7, false),
);
const wellFormed = fc
  .record(
    {
      apiVersion: mostly<unknown>(
        fc.constant(v1),
        fc.oneof(
          fc.constantFrom(
            ...['', 'v1', '/v1', 'a/b/c', ` ${v1}`],
            ...['v1beta1', 'v1alpha1', 'v2', ''].map((name) => group + name),
          ),
          notText,
        ),
      ),
      kind: mostly<unknown>(
        fc.constant('ExecCredential'),
        fc.oneof(fc.constantFrom('', 'execCredential', 'Secret', 'List', 'ExecCredentialList'), notText),
      ),
      metadata: rarely(fc.constantFrom<unknown>({}, { name: 'x' }, { name: 7 }, null, 'x')),
      spec: rarely(
        fc.constantFrom<unknown>(
          ...[{}, { interactive: false }, null, { interactive: 'x' }, { cluster: 7 }, { cluster: { server: 7 } }],
          ...[{ cluster: { server: 'x', config: [1] } }, { unknown: 1 }, 'x', []],
        ),
      ),
      status,
      unknown: rarely(notText),
    },
    { requiredKeys: ['apiVersion', 'kind', 'status'] },
  )
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
const head = `apiVersion: ${v1}\nkind: ExecCredential\n`;
/** Scalars that a person or a script would write, and YAML's traps. */
const scalars = [
  ...'t yes on n y 7 0x1F 0o17 017 1_000 1e3 .5 .inf ~ null 2100-01-01 12:30:45 *x @t `t %t [t] {t} "t = << Null NO'.split(
    ' ',
  ),
  ...['!!str 7', '!!binary aGk=', '"a\\u0041"', "'it''s'", '&x t', '|\n    t', '>-\n    a\n    b', 't # comment'],
  ...['t: u', '- t', 'a b', '!custom t'],
];
const texts = fc.oneof(
  fc.constantFrom(...scalars).map((scalar) => `${head}status:\n  token: ${scalar}\n`),
  fc.constantFrom(
    ...'| |\n|{}|null|[]|7|"x"|token|{|---|# nothing|{"a":1}|\u0000|a: b: c'.split('|'),
    `---\n${head}status: { token: t }\n`,
    `---\n${head}status: { token: t }\n...\n`,
    `# a comment\n${head}status: { token: t }\n`,
    `${head}status: { token: t }\n---\n${head}status: { token: u }\n`,
    `---\n---\n${head}status: { token: t }\n`,
    `${head}status:\n\ttoken: t\n`,
    `${head}status:\n  token: t\n  token: u\n`,
    `${head}kind: Secret\nstatus: { token: t }\n`,
    `${head}status: &s { token: t }\nspec: *s\n`,
    `${head}base: &b { token: t }\nstatus:\n  <<: *b\n`,
    `${head}status: { token: t, expirationTimestamp: 2100-01-01T00:00:00Z }\n`,
    `${head}1: x\nstatus: { token: t }\n`,
    `${head}? [a]\n: x\nstatus: { token: t }\n`,
    `%YAML 1.1\n---\n${head}status: { token: t }\n`,
    `%YAML 1.2\n---\n${head}status: { token: yes }\n`,
  ),
);
/** What scripts do to a good answer. */
const spoil = fc.constantFrom<(text: string) => string>(
  ...['\n', ' ', '\ufeff', '---\n', 'WARNING: old\n', '# c\n', '\u001b[0m', '{}\n'].map(
    (before) => (text: string) => before + text,
  ),
  ...['\n\n', ' \t', '}', 'x', '\n{}', '\n---\n', '\nDone.\n', '\u0000', ',', '# c', ' # c'].map(
    (after) => (text: string) => text + after,
  ),
  (text) => text.replaceAll('"', "'"),
  (text) => text.replaceAll('"', ''),
  (text) => text.replace(/\bstatus\b/, 'Status'),
  (text) => text.replace(/\btoken\b/, 'Token'),
  (text) => text.replace(/\bkind\b/, 'Kind'),
  (text) => text.replace(/\bapiVersion\b/, 'apiversion'),
  (text) => text.replace(/\bapiVersion\b/, 'ApiVersion').replace(/\bkind\b/, 'KIND'),
  (text) => text.replace(/^\{/, '{"kind":"ExecCredential",'),
  (text) => text.replace(/^\{/, '{"kind":"Secret",'),
  (text) => text.replace(/^\{/, '{"status":{"token":"other"},'),
  (text) => text.replace(/\}$/, ',}'),
  (text) => text.replace(/,/, ',,'),
  (text) => text.replace(/:/, '='),
  (text) => text.slice(0, -1),
  (text) => text.replaceAll('\n', '\r\n'),
  (text) => text.replaceAll('  ', '\t'),
  (text) => Buffer.from(text, 'utf16le').toString('latin1'),
);
export const answer = fc.oneof(
  { weight: 6, arbitrary: wellFormed.chain(written) },
  { weight: 2, arbitrary: fc.tuple(wellFormed.chain(written), spoil).map(([text, change]) => change(text)) },
  { weight: 1, arbitrary: texts },
);

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matchesAny, parseUrlPattern } from '../../src/access/url-pattern.ts';
import { fc } from '../fixtures/property.ts';

function matches(pattern: string, url: string): boolean {
  const parsed = parseUrlPattern(pattern, ['https:', 'http:', 'socks5:']);
  assert.ok(!('problem' in parsed), `${pattern} is no pattern`);
  return matchesAny([parsed], url);
}

describe('a pattern of URLs', () => {
  for (const [pattern, url, expected] of [
    ['https://a.example.com', 'https://a.example.com', true],
    ['https://a.example.com', 'https://A.EXAMPLE.COM/', true],
    ['https://a.example.com', 'https://a.example.com.', true],
    ['https://a.example.com', 'https://a.example.com:443', true],
    ['https://a.example.com:443', 'https://a.example.com', true],
    ['https://a.example.com', 'https://a.example.com:6443', false],
    ['https://a.example.com', 'http://a.example.com', false],
    ['https://a.example.com', 'https://a.example.com.evil.dev', false],
    ['https://a.example.com', 'https://a-example.com', false],
    ['https://*.example.com', 'https://a.example.com', true],
    ['https://*.example.com', 'https://example.com', false],
    ['https://*.example.com', 'https://a.b.example.com', false],
    ['https://*.example.com', 'https://evil.dev/.example.com', false],
    ['https://*.example.com', 'https://evil.dev#.example.com', false],
    ['https://*.example.com', 'https://evil.dev?.example.com', false],
    ['https://*.example.com', 'https://evil.dev\\.example.com', false],
    ['https://*.example.com', 'https://a.example.com@evil.dev', false],
    ['https://*.example.com', 'https://user@a.example.com', false],
    ['https://a.*.com', 'https://a.b.com', true],
    ['https://*.*.*.*', 'https://10.0.0.1', false],
    ['https://*.10.0.0.1.nip.io', 'https://a.10.0.0.1.nip.io', true],
    ['https://*.10.0.0.1.nip.io', 'https://10.0.0.1', false],
    ['https://10.0.0.1', 'https://10.0.0.1', true],
    ['https://10.0.0.1', 'https://0x0a.0.0.1', true],
    ['https://*', 'https://[::1]', false],
    ['https://[::1]', 'https://[0:0::1]', true],
    ['https://10.0.0.0/8', 'https://10.1.2.3', true],
    ['https://10.0.0.0/8', 'https://0x0a010203', true],
    ['https://10.0.0.0/8', 'https://10.1.2.3/any/path', true],
    ['https://10.0.0.0/8', 'https://11.0.0.1', false],
    ['https://10.0.0.0/8', 'https://10.0.0.1:6443', false],
    ['https://10.0.0.0/8', 'https://10.0.0.1.example.com', false],
    ['https://10.0.0.0/8', 'https://10.example.com', false],
    ['https://10.0.0.0/8:6443', 'https://10.0.0.1:6443', true],
    ['https://10.0.0.0/8:6443', 'https://10.0.0.1', false],
    ['https://10.0.0.0:6443/8', 'https://10.0.0.1:6443', true],
    ['https://10.0.0.0/8:443', 'https://10.0.0.1', true],
    ['https://10.0.0.0/8/v1', 'https://10.0.0.1/v1/x', true],
    ['https://10.0.0.0/8/v1', 'https://10.0.0.1/v2', false],
    ['https://0.0.0.0/0', 'https://8.8.8.8', true],
    ['https://0.0.0.0/0', 'https://[2001:db8::1]', false],
    ['https://[2001:db8::]/32', 'https://[2001:db8:1::1]', true],
    ['https://[2001:db8::]/32', 'https://[2001:db9::1]', false],
    ['https://[2001:db8::]/32:6443', 'https://[2001:db8::1]:6443', true],
    ['https://[2001:db8::]/32', 'https://10.0.0.1', false],
    ['socks5://10.0.0.0/8', 'socks5://10.0.0.1', true],
    ['socks5://10.0.0.0/8', 'socks5://0x0a000001', false],
    ['socks5://*.*', 'socks5://10.1', false],
    ['https://h/v1', 'https://h/v1', true],
    ['https://h/v1', 'https://h/v1/projects/1', true],
    ['https://h/v1', 'https://h/v10', false],
    ['https://h/v1/', 'https://h/v1', true],
    ['https://h/v1', 'https://h/v1/../v2', false],
    ['https://h/v1', 'https://h/v2/../v1/x', true],
    ['https://h/v1', 'https://h/v1%2f..%2fv2', false],
    ['https://h/v1', 'https://h/v1%5c..', false],
    ['https://h/v1', 'https://h/V1', false],
    ['https://b\u00fccher.example', 'https://xn--bcher-kva.example', true],
    ['socks5://Proxy.example:1080', 'socks5://proxy.example', true],
  ] as const) {
    test(`${pattern} ${expected ? 'is' : 'is not'} for ${url}`, () => assert.equal(matches(pattern, url), expected));
  }

  for (const text of [
    '',
    'a.example.com',
    'https://',
    'https://u:p@h',
    'https://h?q',
    'https://h#f',
    'https://a*.h',
    'ftp://h',
    'https://10.0.0.*',
    'https://10.*',
    'https://*.0.0.1',
    'https://0x0a.*.*.*',
    'https://[fd00::*]',
    'https://10.0.0.0/33',
    'https://10.0.0.0/08',
    'https://[::]/129',
    'https://10.0.0.0:1/8:2',
    'https://10.0.0.0/8:65536',
    'https://a.example.com,https://b.example.com',
    'https://10.0.0.0/8,10.1.0.0/16',
  ]) {
    test(`cannot be ${JSON.stringify(text)}`, () => assert.ok('problem' in parseUrlPattern(text, ['https:'])));
  }

  test('with a star in an address says how addresses are written', () => {
    const problem = 'has a * in an address: write the addresses as a CIDR, such as https://10.0.0.0/24';
    assert.deepEqual(parseUrlPattern('https://10.0.0.*', ['https:']), { problem });
  });

  test('never lets another host through, whatever stands around it', () => {
    const host = fc.stringMatching(/^[a-z]{1,8}(\.[a-z]{1,8}){1,3}$/);
    const between = fc.constantFrom('/', '?', '#', '@', ':', '\\', '.', '%2f', '%00', ' ', '\t', '//', ':443/', '/.');
    fc.assert(
      fc.property(host, between, (evil, separator) => {
        if (evil.endsWith('.example.com')) return;
        const url = `https://${evil}${separator}a.example.com`;
        const goesTo = URL.parse(url)?.hostname;
        if (goesTo?.endsWith('.example.com')) return;
        assert.equal(matches('https://*.example.com', url), false, url);
      }),
      { numRuns: 2_000 },
    );
  });
});

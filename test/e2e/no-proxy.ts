// Compares the environment's proxies with Go's reading of them (golang.org/x/net/http/httpproxy), NO_PROXY above all.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseProxy, proxyUrlFor } from '../../src/rest/transport/proxy.ts';
import { askGo, tally, words } from './differential.ts';

interface Case {
  readonly proxy: string;
  readonly noProxy: string;
  readonly server: string;
}

const names = 'example.com|a.example.com|b.a.example.com|xexample.com|com|localhost|a.localhost|host'.split('|');
const addresses = ['10.0.0.1', '10.1.2.3', '127.0.0.1', '127.9.9.9', '192.168.1.10', '0.0.0.0', '169.254.169.254'];
const addresses6 = ['::1', '2001:db8::1', '2001:db8:0:0::2', '::ffff:10.0.0.1', 'fe80::1', 'FD00::A'];
const international = ['bücher.example', 'xn--bcher-kva.example', 'a.bücher.example'];
const port = fc.constantFrom('', '', '', ':443', ':6443', ':80');
const host = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...names, 'EXAMPLE.com', 'example.com.') },
  fc.constantFrom(...addresses),
  fc.constantFrom(...addresses6.map((address) => `[${address}]`)),
  fc.constantFrom(...international),
);
const server = fc
  .tuple(host, port, fc.constantFrom('', '/path'))
  .map(([name, number, path]) => `https://${name}${number}${path}`);
const entry = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('', '', '.', '*.', '*', ' '),
      fc.constantFrom(...names, ...international, 'Example.COM'),
      port,
    )
    .map((parts) => parts.join('')),
  fc.tuple(fc.constantFrom(...addresses, '0.1', '.0.1', '1.2.3'), port).map((parts) => parts.join('')),
  fc
    .tuple(fc.constantFrom(...addresses), fc.constantFrom('/8', '/16', '/32', '/0', '/33', '/', '/08', '/x'))
    .map((parts) => parts.join('')),
  fc
    .tuple(
      fc.constantFrom(...addresses6, '2001:0db8:0000::0001', '::ffff:a00:1'),
      fc.constantFrom('', '/64', '/128', '/0', '/129', '/96'),
    )
    .map((parts) => parts.join('')),
  fc.tuple(fc.constantFrom(...addresses6), port).map(([address, number]) => `[${address}]${number}`),
  words(
    '|*|**|:443|.|*.|:|[]|[]:1|example.com:|example.com:x|a b|10.0.0.1:|10.0.0|[::1|*.*|é|*:443|example.com:443:1|example.com.|http://example.com',
  ),
);
const cases: fc.Arbitrary<Case> = fc.record({
  proxy: fc.oneof(
    { weight: 6, arbitrary: fc.constant('http://proxy:3128') },
    fc.constantFrom('', 'proxy:3128', 'proxy', 'https://proxy', 'socks5://proxy:1080', 'http://u:p@proxy:1'),
  ),
  noProxy: fc.array(entry, { maxLength: 3 }).map((entries) => entries.join(',')),
  server,
});

/** As Go prints it. */
function ours({ proxy, noProxy, server: text }: Case): string {
  const found = proxyUrlFor(new URL(text), undefined, { HTTPS_PROXY: proxy, NO_PROXY: noProxy });
  if (found === undefined) return 'none';
  const { protocol, hostname } = parseProxy(found);
  return `${protocol}//${hostname}`;
}

/** How many cases came out how. */
export async function compareNoProxy(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(cases, { numRuns: count, seed });
  return tally(seed, generated, await askGo('access', './proxy', generated), (given, theirs: string) => {
    const mine = ours(given);
    // They take an address in brackets for a name where it has no port.
    if (mine === 'none' && theirs !== 'none' && /(^|,)\[[^\]]+\](,|$)/.test(given.noProxy))
      return 'an IPv6 address in brackets is one without a port, too';
    assert.equal(mine, theirs.replace(/:\d+$/, ''));
    return theirs === 'none' ? 'no proxy' : 'a proxy';
  });
}

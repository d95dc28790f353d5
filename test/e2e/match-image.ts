// Compares matchImage with the kubelet's own code, built from the Go module proxy, on generated pairs.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { matchImage, parseImageUrl } from '../../src/image-credentials/keyring.ts';
import { askGo, tally, words } from './differential.ts';

interface Pair {
  readonly pattern: string;
  readonly image: string;
}

const label = fc.stringMatching(/^[a-z0-9*-]{0,6}$/);
const host = fc.oneof(
  { weight: 8, arbitrary: fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.')) },
  fc.constantFrom('gcr.io', '*.gcr.io', 'GCR.io', '*', '*.*', '**.io', 'g*r.io', 'localhost', '.gcr.io', 'gcr.io.'),
  words('[::1]|[::1%25eth0]|[fe80::1%25]|[::ffff:1.2.3.4]|::1|[1.2.3.4]|[]|[|x[::1]|[::1'),
  fc.constantFrom(
    ...'é.io|%c3%a9.io|%41.io|%2e.io|%25.io|a b.io|a\\b|a^b'.split('|'),
    'a|b',
    ...'a<b>.io|u:p@gcr.io|u@|https://gcr.io|a?b|a#b|a#%zz|"a"|{a}|\u0001|'.split('|'),
  ),
);
const port = fc.constantFrom('', '', '', ':443', ':5000', ':0443', ':', ':99999', ':*', ':abc', ':1:2');
const segment = fc.oneof(
  fc.stringMatching(/^[a-z0-9*._-]{0,5}$/),
  fc.constantFrom('%61', '%zz', '%2f', '..', '.', '', 'a b', 'é', '?q', '#f', '[', ':80'),
);
const path = fc.array(segment, { maxLength: 3 }).map((segments) => segments.map((text) => `/${text}`).join(''));
const url = fc.tuple(host, port, path).map((parts) => parts.join(''));

/** A pattern made out of an image, so that many of them match. */
const related = fc.tuple(url, fc.infiniteStream(fc.nat(9))).map(([image, dice]) => {
  const roll = () => Number(dice.next().value ?? 9);
  const slash = image.indexOf('/');
  const [authority, rest] = slash < 0 ? [image, ''] : [image.slice(0, slash), image.slice(slash)];
  const globbed = authority
    .split('.')
    .map((part) => (roll() < 2 ? '*' : roll() < 2 ? `${part.slice(0, roll() % 4)}*` : part))
    .join('.');
  return { pattern: `${globbed}${rest.slice(0, roll() < 4 ? roll() : rest.length)}`, image };
});
const pairs: fc.Arbitrary<Pair> = fc.oneof({ weight: 3, arbitrary: related }, fc.record({ pattern: url, image: url }));

/** Why the two may differ; `undefined` if they may not. */
function ruleFor({ pattern, image }: Pair): string | undefined {
  const [url, target] = [parseImageUrl(pattern), parseImageUrl(image)];
  if ('problem' in url || 'problem' in target)
    return 'a user, an escape, a zone and what no registry is called: no match here';
  const isBareAddress = url.port === '' && url.parts[0]?.startsWith('[');
  return isBareAddress ? 'an IPv6 address without a port: there a class of characters, here itself' : undefined;
}

/** How many pairs came out how. */
export async function compareMatchImage(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(pairs, { numRuns: count, seed });
  const lines = await askGo('match-image', '.', generated);
  return tally(seed, generated, lines, ({ pattern, image }, theirs: boolean) => {
    const ours = matchImage(pattern, image);
    if (ours !== theirs) {
      return ruleFor({ pattern, image }) ?? assert.fail('they differ');
    }
    return ours ? 'a match' : 'no match';
  });
}

// Compares how answers of several providers are put together with the kubelet's own keyring.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { combine, type ImageCredential, isDockerHub, Keyring } from '../../src/image-credentials/keyring.ts';
import { askGo, tally, words } from './differential.ts';

interface Case {
  readonly image: string;
  /** A user name for each key, provider by provider. */
  readonly answers: readonly Readonly<Record<string, string>>[];
}

// More of the likely ones, or hardly any key would match.
const host = fc.oneof(
  { weight: 4, arbitrary: words('|gcr.io|index.docker.io|docker.io|a.example.dev|*.example.dev|*') },
  words('*.*|localhost:5000|gcr.io:443|10.0.0.1|library|ubuntu|x y'),
);
const path = words('||/|/v1/|/v2/|/v1|/v2/app|/app|/app/|/app/one|/ap|/v1/app|/app?q|/app#f|//app|/app@sha|/v1//');
const key = fc.tuple(words('|||https://|http://|HTTPS://|ftp://'), host, path);
const image = fc.tuple(host, path, words('|/app|/app/one|:tag|/team/app:1|@sha256:00'));
const cases: fc.Arbitrary<Case> = fc
  .record({ image, keys: fc.array(fc.uniqueArray(key, { maxLength: 4, selector: String }), { maxLength: 3 }) })
  .map(({ image: parts, keys }) => ({
    image: parts.join(''),
    // Each user name tells where it comes from.
    answers: keys.map((list, provider) =>
      Object.fromEntries(list.map((one) => [one.join(''), `${provider} ${one.join('')}`])),
    ),
  }));

function keyringsOf({ answers }: Case): readonly Keyring[] {
  const login = (username: string) => ({ username, password: 'x' });
  return answers.map(
    (auth, provider) =>
      new Keyring(String(provider), new Map(Object.entries(auth).map(([one, username]) => [one, login(username)]))),
  );
}

/** User names, those of one provider for one pattern in a list of their own. */
function grouped(credentials: readonly ImageCredential[]): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const { provider, pattern, username } of credentials) {
    const group = `${provider} ${pattern}`;
    groups.set(group, [...(groups.get(group) ?? []), username]);
  }
  return [...groups.values()];
}

/** Keys of one provider that mean the same pattern come in Go's random order. */
function assertSame(ours: readonly (readonly string[])[], theirs: readonly string[]): void {
  let start = 0;
  for (const group of ours) {
    assert.deepEqual(group.toSorted(), theirs.slice(start, start + group.length).toSorted());
    start += group.length;
  }
  assert.equal(start, theirs.length);
}

/** How many cases came out how. */
export async function compareKeyring(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(cases, { numRuns: count, seed });
  const lines = await askGo('match-image', './keyring', generated);
  return tally(seed, generated, lines, (given, theirs: readonly string[]) => {
    const keyrings = keyringsOf(given);
    const ours = combine(given.image, keyrings);
    if (ours.length === 0 && theirs.length > 0) {
      assert.ok(!isDockerHub(given.image));
      assertSame(grouped(keyrings.flatMap(({ hub }) => hub)), theirs);
      return "there Docker Hub's credential for localhost or a name without registry, here none";
    }
    assertSame(grouped(ours), theirs);
    return ours.length === 0 ? 'no credential' : ours.length === 1 ? 'one credential' : 'several credentials';
  });
}

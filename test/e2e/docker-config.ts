// Compares which login crane and Docker find in what toDockerConfig gives with the credential that the image has.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { toAuths } from '../../src/image-credentials/docker-config.ts';
import { combine, Keyring, registryOf, repositoryOf } from '../../src/image-credentials/keyring.ts';
import { askGo, tally, words } from './differential.ts';

interface Login {
  readonly username: string;
  readonly password: string;
}

interface Case {
  readonly images: readonly { readonly name: string; readonly known: boolean }[];
  /** What providers answer, one after the other. */
  readonly answers: readonly Readonly<Record<string, Login>>[];
}

// More of the likely ones, or hardly any registry would be met twice.
const registry = fc.oneof(
  { weight: 9, arbitrary: words('|docker.io/|index.docker.io/|r.example.dev/|r.example.dev/') },
  words('r.example.dev:5000/|R.example.dev/|localhost/|localhost:5000/|[::1]:5000/|10.0.0.1/|s.example.dev/'),
);
const repository = words('app|team/app|team/app/deep|team-two/app|library/app|other');
const image = fc.record({
  name: fc.tuple(registry, repository, words('|||:1|@sha256:'.concat('0'.repeat(64)))).map((parts) => parts.join('')),
  // A plugin may answer for one image and not for another.
  known: fc.integer({ max: 9, min: 0 }).map((roll) => roll > 0),
});
const key = fc
  .tuple(
    words('|https://'),
    words(
      'docker.io|https://index.docker.io/v1/|r.example.dev|*.example.dev|localhost|localhost:5000|[::1]:5000|*|*.*.*',
    ),
    words('||/team|/team/app|/library|/v1/team|/other'),
  )
  .map(([scheme, host, path]) => (host.includes('://') ? host : `${scheme}${host}${path}`));
const login = fc.record({
  username: words('me|you|them|me|you|them|m\u00e9||a:b|<token>|0'),
  password: words('pw|pw|p:w|p\u00e4ss|\0pw\0| ||pw='),
});
const cases: fc.Arbitrary<Case> = fc.record({
  images: fc.array(image, { minLength: 2, maxLength: 6 }),
  answers: fc.array(fc.dictionary(key, login, { minKeys: 2, maxKeys: 5 }), { minLength: 1, maxLength: 2 }),
});

/** The first credential of each repository, as getCredentials has it. */
function credentialsOf({ images, answers }: Case) {
  const keyrings = answers.map((auth, provider) => new Keyring(String(provider), new Map(Object.entries(auth))));
  const repositories = new Map(images.map(({ name, known }) => [repositoryOf(name), known]));
  return [...repositories].map(([repository, known]) => ({
    image: repository,
    credentials: known ? combine(repository, keyrings) : [],
  }));
}

/** How many images came out how. */
export async function compareDockerConfig(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(cases, { numRuns: count, seed });
  const inputs = generated.map((given) => {
    const credentials = credentialsOf(given);
    return { config: JSON.stringify(toAuths(credentials)), images: credentials.map(({ image: name }) => name) };
  });
  const lines = await askGo('docker', './keychain', inputs);
  return tally(seed, generated, lines, (given, theirs: readonly { crane: string; docker: string }[]) => {
    const all = credentialsOf(given).map(({ image: name, credentials: [first] }) => ({
      registry: registryOf(name),
      login: !first || (first.username === '' && first.password === '') ? '' : `${first.username} ${first.password}`,
      isWhole: first !== undefined && !first.pattern.includes('/'),
    }));
    const found = new Set<string>();
    for (const [index, { registry: own, login: expected }] of all.entries()) {
      const neighbours = all.filter((other) => other.registry === own);
      const [only = '', ...others] = new Set(neighbours.map((other) => other.login).filter((text) => text !== ''));
      const some = neighbours.some((other) => other.login === '');
      const whole = some ? undefined : neighbours.find(({ isWhole }) => isWhole)?.login;
      const { crane, docker } = theirs[index] ?? {};
      // What Docker finds for the registry; crane too, where the image has nothing of its own.
      const shared = others.length === 0 ? only : (whole ?? '');
      assert.equal(crane, expected === '' ? shared : expected);
      assert.equal(docker, shared);
      if (others.length > 0)
        found.add('different logins in a registry: crane finds each, Docker at most that of the registry');
      else if (some && only !== '') found.add('an image without a login: its registry has one only, and that is found');
      else if (only !== '') found.add('one login for a registry: both find it');
    }
    return [...found].toSorted().join('; ') || 'no login';
  });
}

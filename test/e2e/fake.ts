// FakeCluster beside a real API server: both are sent the same requests, and have to answer the same.
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../src/testing/api/json.ts';
import { FakeCluster } from '../../src/testing/index.ts';
import { Random } from '../fixtures/random.ts';
import { startControlPlane } from './control-plane.ts';
import { readYamlFile } from './crd.ts';
import type { Earlier, Step } from './fake/choice.ts';
import { compareCompaction } from './fake/compaction.ts';
import { compareDiscovery } from './fake/discovery.ts';
import { definitions, kinds, namespaces, pathOf } from './fake/kinds.ts';
import { compareScenarios } from './fake/scenarios.ts';
import { type Answer, agentFor, type Sent, Side } from './fake/sides.ts';
import { nextStep } from './fake/steps.ts';

interface Outcome {
  readonly sent: Sent;
  readonly answer: Answer;
  readonly normalized: Json;
}

/** How many requests were answered how. Throws at the first that the two answer differently. */
export async function compareFake(programs: string, count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const plane = await startControlPlane(programs, 'fake');
  try {
    const { certificate, key } = plane.certificateAuthority.issue({
      commonName: 'admin',
      organizations: ['system:masters'],
      client: true,
    });
    const ca = Buffer.from(plane.certificateAuthorityData, 'base64').toString();
    await using cluster = await FakeCluster.start({
      tokens: { admin: { username: 'admin', groups: ['system:masters'] } },
    });
    const real = new Side('kube-apiserver', plane.server, agentFor(ca, { cert: certificate, key }), {});
    const fake = new Side('FakeCluster', cluster.url, agentFor(cluster.certificateAuthority.certificate), {
      authorization: 'Bearer admin',
    });
    try {
      await prepare(real, fake);
      const run = new Run(real, fake);
      const random = new Random(seed);
      while (run.count < count) {
        const { make, gives } = nextStep(random, run.earlier);
        await run.compare(make, gives);
      }
      await compareCompaction(plane, cluster, (make) => run.compare(make), [real, fake]);
      run.outcomes.set('steps of scenarios', await compareScenarios([real, fake]));
      run.outcomes.set('resources in discovery', await compareDiscovery(real, fake));
      return run.outcomes;
    } finally {
      await Promise.all([real.close(), fake.close()]);
    }
  } finally {
    await plane.close();
  }
}

/** The namespaces and kinds that the requests are about. */
async function prepare(real: Side, fake: Side): Promise<void> {
  const post = async (sides: readonly Side[], path: string, body: never) => {
    for (const side of sides) {
      const { code, body: answer } = await side.send({ method: 'POST', path, body });
      if (code !== 201) throw new Error(`${side.name}: ${path}: ${JSON.stringify(answer)}`);
    }
  };
  for (const name of namespaces) await post([real, fake], '/api/v1/namespaces', { metadata: { name } } as never);
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const definition of definitions) await post([real, fake], crds, definition as never);
  await post([real], crds, readYamlFile('crds/multicluster.x-k8s.io_clusterprofiles.yaml') as never);
  for (const kind of kinds.filter(({ custom }) => custom)) {
    // A real server takes its time to serve what is defined.
    while ((await real.send({ method: 'GET', path: pathOf(kind) })).code !== 200)
      await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** One request after the other to both, and what became of them. */
class Run {
  readonly #real: Side;
  readonly #fake: Side;
  readonly earlier: Earlier[] = [];
  /** How many requests were answered how. */
  readonly outcomes = new Map<string, number>();
  count = 0;

  constructor(real: Side, fake: Side) {
    this.#real = real;
    this.#fake = fake;
  }

  /** Throws where the two answer differently. */
  async compare(make: Step['make'], gives?: Step['gives']): Promise<void> {
    const index = this.count;
    this.count += 1;
    const ours = await this.#ask(this.#fake, index, make);
    let theirs = await this.#ask(this.#real, index, make);
    // What may be as old as a version comes from a cache of the server, which lags behind on a busy machine.
    for (
      let again = 0;
      again < 100 && isOfCache(theirs) && !isDeepStrictEqual(theirs.normalized, ours.normalized);
      again++
    ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      theirs = await this.#ask(this.#real, index, make);
    }
    if (!isDeepStrictEqual(theirs.normalized, ours.normalized)) throw new Error(difference(index, theirs, ours));
    const { code, body } = ours.answer;
    const list = gives?.list === true;
    if (gives && code < 300 && (list || Object(Object(body).metadata).resourceVersion)) {
      this.earlier.push({ index, list, kind: gives.kind, namespace: gives.namespace });
    }
    const outcome = `${ours.sent.method} ${code}`;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  async #ask(side: Side, index: number, make: Step['make']): Promise<Outcome> {
    const sent = make(side);
    const answer = await side.send(sent);
    side.answers[index] = answer.body;
    return { sent, answer, normalized: side.normalized(answer) };
  }
}

function isOfCache({ sent: { method, path } }: Outcome): boolean {
  return method === 'GET' && /[?&]resourceVersion=/.test(path);
}

function difference(index: number, theirs: Outcome, ours: Outcome): string {
  const told = [theirs, ours].map(({ sent, answer, normalized }) =>
    [sent, normalized, answer].map((part) => JSON.stringify(part)).join('\n    '),
  );
  return `request ${index} is answered differently\n  kube-apiserver:\n    ${told[0]}\n  FakeCluster:\n    ${told[1]}`;
}

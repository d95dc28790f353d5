// What was before a compaction: versions, watches and tokens of lists that both servers no longer know.

import type { FakeCluster } from '../../../src/testing/index.ts';
import type { ControlPlane } from '../control-plane.ts';
import { kinds, namespaces, pathOf } from './kinds.ts';
import type { Sent, Side } from './sides.ts';

type Compare = (make: (side: Side) => Sent) => Promise<void>;

/** Compacts both, and asks for what they have forgotten. */
export async function compareCompaction(
  plane: ControlPlane,
  cluster: FakeCluster,
  compare: Compare,
  sides: readonly Side[],
): Promise<void> {
  const kind = kinds.find(({ plural }) => plural === 'secrets');
  if (!kind) throw new Error('the kinds have no secrets');
  const path = pathOf(kind, namespaces[0]);
  const start = Math.max(...sides.map(({ answers }) => answers.length));
  for (const name of ['x', 'y', 'z']) {
    await compare(() => ({ method: 'POST', path, body: { metadata: { name } } }));
  }
  await compare(() => ({ method: 'GET', path: `${path}?limit=1` }));
  const before = (side: Side) => Object(Object(side.answers[start + 3]).metadata); // a list has metadata
  await compare(() => ({ method: 'DELETE', path: `${path}/y` }));
  const [real] = sides;
  if (!real) throw new Error('there is no real server');
  const { body } = await real.send({ method: 'GET', path });
  await plane.compact(String(Object(Object(body).metadata).resourceVersion)); // a list has a version
  // Its cache would still know: a server that begins anew does not.
  await plane.restart();
  cluster.compact();
  const asks: readonly ((side: Side) => string)[] = [
    (side) => `watch=1&timeoutSeconds=1&resourceVersion=${before(side).resourceVersion}`,
    (side) => `resourceVersion=${before(side).resourceVersion}&resourceVersionMatch=Exact`,
    (side) => `resourceVersion=${before(side).resourceVersion}&limit=1`,
    (side) => `resourceVersion=${before(side).resourceVersion}&resourceVersionMatch=NotOlderThan`,
    (side) => `limit=1&continue=${before(side).continue}`,
    () => 'watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  ];
  for (const query of asks) await compare((side) => ({ method: 'GET', path: `${path}?${query(side)}` }));
}

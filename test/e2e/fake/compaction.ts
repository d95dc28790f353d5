// What was before a compaction: versions, watches and tokens of lists that both servers no longer know.
import assert from 'node:assert/strict';
import { isList, type Json, valueAt } from '../../../src/testing/api/json.ts';
import type { FakeCluster } from '../../../src/testing/index.ts';
import { inside, post, remove } from '../../testing/scenarios/scenario.ts';
import type { Side } from '../../testing/scenarios/side.ts';
import type { ControlPlane } from '../control-plane.ts';

const path = `${inside}/secrets`;

/** What is told of each answer: its code and reason, or the types and names of a watch's events, but for bookmarks that come when they come. */
function told(code: number, body: Json): readonly unknown[] {
  if (!isList(body)) return [code, valueAt(body, ['reason'])];
  const events = body.map((event) => [
    valueAt(event, ['type']),
    valueAt(event, ['object', 'metadata', 'name']),
    valueAt(event, ['object', 'code']),
    valueAt(event, ['object', 'metadata', 'annotations', 'k8s.io/initial-events-end']),
  ]);
  return [code, events.filter(([type, , , end]) => type !== 'BOOKMARK' || end !== undefined)];
}

/** Compacts both, and asks for what they have forgotten. Gives how many answers were compared. */
export async function compareCompaction(
  plane: ControlPlane,
  cluster: FakeCluster,
  sides: readonly [real: Side, fake: Side],
): Promise<number> {
  const befores: Json[] = [];
  for (const side of sides) {
    for (const name of ['x', 'y', 'z']) await side.send(post(path, { metadata: { name } }));
    befores.push((await side.send({ method: 'GET', path: `${path}?limit=1` })).body);
    await side.send(remove(`${path}/y`));
  }
  const { body } = await sides[0].send({ method: 'GET', path });
  await plane.compact(String(valueAt(body, ['metadata', 'resourceVersion'])));
  // Its cache would still know: a server that begins anew does not.
  await plane.restart();
  cluster.compact();
  const queries = [
    'watch=1&timeoutSeconds=1&resourceVersion=VERSION',
    'resourceVersion=VERSION&resourceVersionMatch=Exact',
    'resourceVersion=VERSION&limit=1',
    'resourceVersion=VERSION&resourceVersionMatch=NotOlderThan',
    'limit=1&continue=CONTINUE',
    'watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  ];
  for (const query of queries) {
    const answers = await Promise.all(
      sides.map(async (side, index) => {
        const of = (field: string) => String(valueAt(befores[index] ?? null, ['metadata', field]));
        const own = query.replace('VERSION', of('resourceVersion')).replace('CONTINUE', of('continue'));
        const answer = await side.send({ method: 'GET', path: `${path}?${own}` });
        return told(answer.code, answer.body);
      }),
    );
    assert.deepEqual(answers[1], answers[0], query);
  }
  return queries.length;
}

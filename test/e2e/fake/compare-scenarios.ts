// FakeCluster beside a real API server: each step of the scenarios has the same answer. UPDATE_ANSWERS=1 records the answers, with
// which `npm test` compares FakeCluster without a real server.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Step, Teller, type Told } from '../../testing/scenarios/scenario.ts';
import { scenarios } from '../../testing/scenarios/scenarios.ts';
import type { Side } from '../../testing/scenarios/side.ts';

const recorded = new URL('../../testing/scenarios/answers.jsonl', import.meta.url);
/** A real server follows a definition in its own time. */
const waitMs = 20_000;

/** How many answers were compared. Throws at the first that is given differently. */
export async function compareScenarios(sides: readonly [real: Side, fake: Side]): Promise<number> {
  const teller = (side: Side) => new Teller((sent) => side.send(sent));
  const [real, fake] = [teller(sides[0]), teller(sides[1])];
  const all: Told[] = [];
  const step = async (...args: Parameters<Step>) => {
    const until = Date.now() + waitMs;
    for (let isRepeated = false; ; isRepeated = true) {
      const theirs: Told = await real.tell(args, isRepeated);
      const ours: Told = await fake.tell(args, isRepeated);
      if (isDeepStrictEqual(theirs, ours)) return void all.push(theirs);
      if (!theirs.sent.startsWith('GET ') || Date.now() > until)
        assert.deepEqual(ours, theirs, 'FakeCluster answers differently');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await scenarios(step);
  if (process.env.UPDATE_ANSWERS) {
    const lines = all.map(({ sent, code, status, picked }) => JSON.stringify([sent, code, status, picked]));
    await writeFile(recorded, `${lines.join('\n')}\n`);
  }
  return all.length;
}

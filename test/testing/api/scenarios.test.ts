import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { z } from 'zod';
import { type Step, Teller } from '../scenarios/scenario.ts';
import { scenarios } from '../scenarios/scenarios.ts';
import { startFake } from '../scenarios/side.ts';

const answerSchema = z.tuple([z.string(), z.number(), z.json(), z.json()]);

// Recorded by UPDATE_ANSWERS=1 npm run test:e2e -- --only fake, which compares both servers step by step.
test('FakeCluster answers each step of the scenarios as a real API server did', async () => {
  const text = await readFile(new URL('../scenarios/answers.jsonl', import.meta.url), 'utf8');
  const recorded = text
    .trimEnd()
    .split('\n')
    .map((line) => answerSchema.parse(JSON.parse(line)));
  await using fake = await startFake();
  const teller = new Teller((sent) => fake.side.send(sent));
  let count = 0;
  await scenarios(async (...args: Parameters<Step>) => {
    const { sent, code, status, picked } = await teller.tell(args);
    assert.deepEqual([sent, code, status, picked], recorded[count]);
    count += 1;
  });
  assert.equal(count, recorded.length);
});

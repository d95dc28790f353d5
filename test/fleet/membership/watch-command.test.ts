import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { watchCommand } from '../../../src/fleet/membership/watch-command.ts';
import { until } from '../../fixtures/until.ts';

test('a file that is put in its place is told to all that wait for it, without a warning about leaks', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'watch-command-'));
  t.after(() => rm(folder, { recursive: true }));
  const warnings: string[] = [];
  const warned = ({ message }: Error) => warnings.push(message);
  process.on('warning', warned);
  t.after(() => process.off('warning', warned));
  const path = join(folder, 'plugin');
  const told = new Set<number>();
  const ends = Array.from({ length: 50 }, (_, index) => watchCommand(path, () => told.add(index)));
  t.after(() => ends.map((end) => end()));
  // Ended twice by mistake, it ends nobody else's.
  ends[0]?.();
  ends[0]?.();
  await writeFile(path, '');
  await until(t, () => told.size === 49);
  assert.ok(!told.has(0));
  assert.deepEqual(warnings, []);
});

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import type { SetUp } from './set-up.ts';
import { clients } from './set-ups/clients.ts';
import { configuration } from './set-ups/configuration.ts';
import { connections } from './set-ups/connections.ts';
import { plugins } from './set-ups/plugins.ts';
import { profiles } from './set-ups/profiles.ts';

/** Every message as a user's `console.error(String(error))` prints it. `UPDATE_MESSAGES=1` writes it anew. */
const snapshot = new URL('messages.txt', import.meta.url);
const tables = { configuration, profiles, plugins, connections, clients };

async function messageOf(t: TestContext, setUp: SetUp): Promise<string> {
  try {
    await setUp(t);
  } catch (error) {
    const cause = error instanceof Error && !isOwn(error) && error.cause ? `\ncause: ${String(error.cause)}` : '';
    return `${String(error)}${cause}`;
  }
  return assert.fail('nothing failed');
}

const isOwn = (error: Error) => 'code' in error && typeof error.code === 'string' && /^[A-Z_]+$/.test(error.code);

/** Without what is another one at each run. */
function withPlaceholders(text: string): string {
  return text
    .replace(/127\.0\.0\.1:(?!1\b)\d+/g, '127.0.0.1:PORT')
    .replaceAll(process.execPath, '/usr/bin/node')
    .replaceAll(tmpdir(), '/TMP')
    .replace(/\/TMP\/(?:credential-)?plugin-\w+(?:\/bin)?/g, '/DIR')
    .replace(/\((?:ENOTFOUND|EAI_AGAIN)\)/g, '(ENOTFOUND)')
    .replace(/"date":"[^"]*"/g, '"date":"TIME"')
    .replace(/"audit-id":"[^"]*"/g, '"audit-id":"ID"');
}

const setUps = Object.entries(tables).flatMap(([table, ofTable]) =>
  Object.entries(ofTable).map(([name, setUp]) => ({ name: `${table}: ${name}`, setUp })),
);
const recorded = read();
const messages = new Map<string, string>();

// Some wait for a timeout: side by side.
describe('the message of a broken set-up', { concurrency: 4 }, () => {
  for (const { name, setUp } of setUps) {
    test(name, async (t) => {
      const message = withPlaceholders(await messageOf(t, setUp));
      messages.set(name, message);
      assert.doesNotMatch(message, /token-1|hunter2|-----BEGIN/, 'no secret');
      if (process.env.UPDATE_MESSAGES) return;
      assert.equal(message, recorded.get(name), inspect(message));
    });
  }
});

test('messages.txt has the message of each broken set-up, and no other', () => {
  const names = setUps.map(({ name }) => name);
  if (process.env.UPDATE_MESSAGES)
    writeFileSync(snapshot, write(names.map((name) => [name, messages.get(name) ?? ''])));
  else assert.deepEqual([...recorded.keys()], names);
});

function read(): ReadonlyMap<string, string> {
  const [, ...parts] = readFileSync(snapshot, 'utf8').split(/^## /m);
  return new Map(
    parts.map((part) => {
      const [name = '', ...lines] = part.split('\n');
      return [name, lines.join('\n').trim()];
    }),
  );
}

function write(entries: readonly (readonly [name: string, message: string])[]): string {
  const title =
    '# What String(error) prints for a broken set-up. Written by messages.test.ts with UPDATE_MESSAGES=1.\n';
  return [title, ...entries.map(([name, message]) => `## ${name}\n${message.trim()}\n`)].join('\n');
}

// The names of fields: as the API server has them, and not as client-node's models do.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import * as clientNode from '@kubernetes/client-node';
import { execa } from 'execa';
import { startConfigAt } from '../fixtures/config-at.ts';
import { root } from '../fixtures/docs.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';

const policies = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', namespace: 'default' } as const;

test('Wire has the wire names of every field of every model of client-node', async (t) => {
  const own = new Set(['apiVersion', 'kind', 'metadata']);
  const lines: string[] = [];
  for (const [model, value] of Object.entries(clientNode)) {
    const attributes: unknown = Reflect.get(Object(value), 'attributeTypeMap');
    if (!Array.isArray(attributes)) continue;
    const names = attributes.map(({ baseName }) => String(baseName)).filter((name) => !own.has(name));
    const union = names.map((name) => JSON.stringify(name)).join(' | ') || 'never';
    lines.push(`same<Exclude<keyof Wire<k.${model}>, keyof KubernetesObject>, ${union}>(true);`);
  }
  assert.ok(lines.length > 500, `${lines.length} models`);
  const folder = mkdtempSync(join(root, 'node_modules/.cache/wire-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = [
    "import type * as k from '@kubernetes/client-node';",
    "import type { KubernetesObject, Wire } from '../../../src/index.ts';",
    'declare function same<One, Other>(is: [One, Other] extends [Other, One] ? true : false): void;',
    ...lines,
  ].join('\n');
  writeFileSync(join(folder, 'wire.ts'), program);
  const config = { extends: join(root, 'tsconfig.json'), include: ['wire.ts'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout, exitCode } = await execa('tsc', ['-p', folder], { preferLocal: true, localDir: root, reject: false });
  assert.equal(exitCode, 0, stdout);
});

test('fieldValidation goes to the server with each write', async (t) => {
  const { cluster, config } = await startFleet(t);
  const strict = config.resource({ ...policies, fieldValidation: 'Strict', fieldManager: 'x' });
  const asked: (string | null)[] = [];
  cluster.onRequest = ({ method, url }) => {
    if (method !== 'GET') asked.push(new URL(url, cluster.url).searchParams.get('fieldValidation'));
  };
  const policy = { metadata: { name: 'a' }, spec: { podSelector: {} } };
  await strict.create(policy);
  await strict.apply(policy);
  assert.deepEqual(asked, ['Strict', 'Strict']);
});

test('a warning of a server is logged without what it says of a credential', async (t) => {
  const warnings: string[] = [];
  const server = createServer(tlsOptions, (_request, response) => {
    const odd = '299 - "v1 X is deprecated \\"soon\\"", 299 - "token-1 is odd", 199 - "other"';
    response.setHeader('warning', odd).end('{}');
  });
  const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
  const { config } = await startConfigAt(t, server, { logger });
  for (let i = 0; i < 3; i++) await (await config.fetch('/version')).text();
  const said = warnings.map((line) => line.replace(/^.*: the server warns about /, ''));
  assert.deepEqual(said, ['GET /version: v1 X is deprecated "soon"', 'GET /version: [redacted] is odd']);
});

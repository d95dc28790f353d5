// The names of fields: as the API server has them, and not as client-node's models do.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { V1ConfigMap, V1NetworkPolicy } from '@kubernetes/client-node';
import * as clientNode from '@kubernetes/client-node';
import { execa } from 'execa';
import type { Wire, WireInput } from '../../src/index.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { root } from '../fixtures/docs.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';

const policies = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', namespace: 'default' } as const;
type Policy = Wire<V1NetworkPolicy>;

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

describe('a field with a name of client-node', () => {
  const input = { metadata: { name: 'a' }, spec: { podSelector: {}, ingress: [{ _from: [{ podSelector: {} }] }] } };
  // As from JavaScript, or from a generated client's model that was not converted.
  const body = input as WireInput<Policy>;

  test('is dropped by FakeCluster as by a server, with a warning that is logged once', async (t) => {
    const warnings: string[] = [];
    const cluster = await startCluster(t);
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const config = startProviders(t, await startPlugin(t), { logger }).getConfig(profileFor(cluster));
    const client = config.resource<Policy>(policies);
    const created = await client.create(body);
    assert.deepEqual(created.spec?.ingress, [{}]);
    const { spec } = await client.patch('a', { spec: input.spec } as object);
    assert.deepEqual(spec?.ingress, [{}]);
    assert.equal(warnings.length, 1, warnings.join('\n'));
    assert.match(
      warnings[0] ?? '',
      /^ClusterProfile fleet\/spoke, .*: the server warns about POST \/apis\/networking\.k8s\.io\/v1\/namespaces\/default\/networkpolicies: unknown field "spec\.ingress\[0\]\._from"$/,
    );
  });

  test('is refused with fieldValidation Strict, and by apply', async (t) => {
    const { config } = await startFleet(t);
    const strict = config.resource<Policy>({ ...policies, fieldValidation: 'Strict', fieldManager: 'x' });
    const refused = { statusCode: 400, message: /strict decoding error: unknown field "spec\.ingress\[0\]\._from"/ };
    await assert.rejects(strict.create(body), refused);
    await assert.rejects(strict.apply(body), { message: /\.spec\.ingress\[0\]\._from: field not declared in schema/ });
    const right: WireInput<Policy> = { metadata: { name: 'a' }, spec: { podSelector: {}, ingress: [{ from: [] }] } };
    assert.deepEqual((await strict.create(right)).spec?.ingress, [{ from: [] }]);
    const maps = config.resource<Wire<V1ConfigMap>>({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' });
    assert.deepEqual((await maps.create({ metadata: { name: 'a' }, data: { _from: 'x' } })).data, { _from: 'x' });
  });
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

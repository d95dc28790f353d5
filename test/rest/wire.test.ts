// The names of fields: as the API server has them, and not as client-node's models do.
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { describe, test } from 'node:test';
import type { V1ConfigMap, V1NetworkPolicy } from '@kubernetes/client-node';
import type { Wire, WireInput } from '../../src/index.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';

const policies = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', namespace: 'default' } as const;
type Policy = Wire<V1NetworkPolicy>;

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

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CoreV1Api, type EventsV1Event, type V1Deployment } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { Events } from '../../src/fleet/events.ts';
import { ApiError, RestConfig, type Wire } from '../../src/index.ts';
import { blocks } from '../fixtures/docs.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { registerCrd } from './crd.ts';
import { kubeconfigText, programs } from './fixture.ts';

/** The error of a call that the server refuses. */
async function refusal(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.then(
    () => assert.fail('nothing failed'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

describe('config.resource on a real API server', () => {
  let plane: ControlPlane;
  let config: RestConfig;
  before(async () => {
    plane = await startControlPlane(programs, 'resources');
    config = RestConfig.fromKubeConfig({ text: plane.admin.exportConfig() });
    await registerCrd(plane);
  });
  after(async () => {
    await config.close();
    await plane.close();
  });
  const inDefault = { namespace: 'default', fieldManager: 'one' };

  test('patches by merge, by operations and by strategic merge, lists in pages, and deletes as it is told', async () => {
    const deployments = config.resource<Wire<V1Deployment>>({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      ...inDefault,
    });
    const labels = { app: 'web' };
    const container = (name: string) => ({ name, image: 'registry.example.dev/web:1' });
    const spec = { containers: [container('a'), container('b')] };
    const model: V1Deployment = {
      metadata: { name: 'web', labels, creationTimestamp: new Date() },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    };
    const created = await deployments.create(model);
    assert.match(created.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT[\d:]+Z$/);
    assert.equal((await deployments.patch('web', { spec: { replicas: 2 } })).spec?.replicas, 2);
    const image = {
      spec: { template: { spec: { containers: [{ name: 'b', image: 'registry.example.dev/web:2' }] } } },
    };
    const strategic = await deployments.patch('web', image, { type: 'strategic' });
    assert.deepEqual(
      strategic.spec?.template.spec?.containers.map(({ image }) => image),
      ['registry.example.dev/web:1', 'registry.example.dev/web:2'],
    );
    const operation = { op: 'replace', path: '/spec/replicas', value: 3 } as const;
    assert.equal((await deployments.patch('web', [operation], { type: 'json' })).spec?.replicas, 3);
    const wrong = await refusal(deployments.patch('web', { spec: { replicas: -1 } }));
    assert.deepEqual([wrong.statusCode, wrong.reason], [422, 'Invalid']);
    assert.deepEqual(
      wrong.causes.map(({ reason, field }) => [reason, field]),
      [['FieldValueInvalid', 'spec.replicas']],
    );
    const status = { metadata: { name: 'web' }, status: { observedGeneration: 1, replicas: 3 } };
    assert.equal((await deployments.applyStatus(status, { force: true })).status?.replicas, 3);
    await deployments.create({ ...model, metadata: { name: 'web-2', labels } });
    const page = await deployments.list({ labelSelector: 'app=web', limit: 1 });
    const next = await deployments.list({ labelSelector: 'app=web', limit: 1, continue: page.metadata.continue ?? '' });
    const items = [...page.items, ...next.items];
    assert.deepEqual(
      items.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name]),
      [
        ['apps/v1', 'Deployment', 'web'],
        ['apps/v1', 'Deployment', 'web-2'],
      ],
    );
    await deployments.delete('web-2', { propagationPolicy: 'Foreground', gracePeriodSeconds: 0, dryRun: true });
    assert.equal((await deployments.get('web-2')).metadata.deletionTimestamp, undefined);
  });

  test('applies objects of a CRD and their status, and is told what it cannot do with them', async () => {
    const kind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' };
    const profiles = config.resource({ ...kind, ...inDefault });
    const spec = { clusterManager: { name: 'manager' } };
    await profiles.apply({ metadata: { name: 'spoke' }, spec });
    const version = { kubernetes: '1.36.3' };
    const { status } = await profiles.applyStatus({ metadata: { name: 'spoke' }, status: { version } });
    assert.deepEqual(status, { version });
    const strategic = await refusal(profiles.patch('spoke', {}, { type: 'strategic' }));
    assert.deepEqual([strategic.statusCode, strategic.reason], [415, 'UnsupportedMediaType']);
    const invalid = await refusal(profiles.apply({ metadata: { name: 'other' }, spec: {} }));
    assert.deepEqual([invalid.statusCode, invalid.reason], [422, 'Invalid']);
    assert.ok(
      invalid.causes.some(({ field }) => field === 'spec.clusterManager'),
      JSON.stringify(invalid.causes),
    );
    const dry = await profiles.apply({ metadata: { name: 'dry' }, spec }, { dryRun: true });
    assert.equal(dry.metadata.name, 'dry');
    assert.deepEqual((await refusal(profiles.get('dry'))).reason, 'NotFound');
  });

  test('events make a series, for a service account that may do what the docs say', async () => {
    const rules = parse(
      blocks('docs/fleet-reconciles.md', 'yaml').find((text) => text.includes('record-events')) ?? '',
    );
    await config.resource({ apiVersion: rules.apiVersion, kind: rules.kind }).create(rules);
    const core = plane.admin.makeApiClient(CoreV1Api);
    const user = { namespace: 'default', name: 'recorder' };
    const account = await core.createNamespacedServiceAccount({ ...user, body: { metadata: { name: user.name } } });
    const token = await core.createNamespacedServiceAccountToken({ ...user, body: { spec: { audiences: [] } } });
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' };
    await config.resource(binding).create({
      metadata: { name: 'recorder' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: rules.metadata.name },
      subjects: [{ kind: 'ServiceAccount', ...user }],
    });
    const text = kubeconfigText(plane, { token: token.status?.token });
    await using recorder = RestConfig.fromKubeConfig({ text });
    const end = new AbortController();
    const clock = new ManualClock();
    clock.advance(Date.now());
    const warnings: string[] = [];
    const kind = { apiVersion: 'events.k8s.io/v1', kind: 'Event' };
    const events = new Events({
      context: { clock, fields: {}, logger: { warn: (_, message) => warnings.push(message) } },
      signal: end.signal,
      resource: (namespace) => recorder.resource({ ...kind, namespace }),
    });
    const { uid = '' } = account.metadata ?? {};
    const object = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...user, uid } };
    const record = () => events.record(object, { type: 'Warning', reason: 'Failed', action: 'Try', note: 'no route' });
    const counts = async () => {
      assert.deepEqual(warnings, []);
      const { items } = await config.resource<Wire<EventsV1Event>>({ ...kind, namespace: 'default' }).list();
      return items.filter(({ regarding }) => regarding?.uid === uid).map(({ series }) => series?.count ?? 1);
    };
    const has = async (count: number) => {
      while (`${await counts()}` !== `${count}`) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    record();
    await has(1);
    record();
    await has(2);
    record();
    clock.advance(360_000);
    await has(3);
    const { items } = await core.listNamespacedEvent({
      namespace: 'default',
      fieldSelector: `involvedObject.uid=${uid}`,
    });
    assert.deepEqual(
      items.map(({ message, reportingComponent, series }) => [message, reportingComponent, series?.count]),
      [['no route', 'clusterprofile-credentials', 3]],
    );
    end.abort();
  });
});

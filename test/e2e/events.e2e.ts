// Who may record events on a real API server, and what becomes of equal ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreV1Api, type EventsV1Event } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { Events } from '../../src/fleet/events.ts';
import { RestConfig, type Wire } from '../../src/index.ts';
import { blocks } from '../fixtures/docs.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { adminOf, kubeconfigText, lifetimeOf, startPlane } from './fixture.ts';

test('events make a series, for a service account that may do what the docs say', async (t) => {
  const life = lifetimeOf(t);
  const plane = await startPlane(life, 'events');
  const config = adminOf(life, plane);
  const rules = parse(blocks('docs/fleet-reconciles.md', 'yaml').find((text) => text.includes('record-events')) ?? '');
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

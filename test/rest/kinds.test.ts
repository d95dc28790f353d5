// The types that follow from apiVersion and kind. `npm run check` reads the @ts-expect-error lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CoreV1Event, EventsV1Event, ResourceV1ResourceClaim, V1Pod } from '@kubernetes/client-node';
import type { ObjectOf, RestConfig, UntypedObject, Wire, WireInput } from '../../src/index.ts';

declare function same<One, Other>(is: [One, Other] extends [Other, One] ? true : false): void;

/** Never called: it has to compile, and what must not compile says so. */
export async function usage(config: RestConfig): Promise<void> {
  same<ObjectOf<'v1', 'Event'>, Wire<CoreV1Event>>(true);
  same<ObjectOf<'events.k8s.io/v1', 'Event'>, Wire<EventsV1Event>>(true);
  same<ObjectOf<'resource.k8s.io/v1', 'ResourceClaim'>, Wire<ResourceV1ResourceClaim>>(true);
  // A custom resource may have the name of a built-in kind.
  same<ObjectOf<'serving.knative.dev/v1', 'Service'>, UntypedObject>(true);
  same<ObjectOf<string, string>, UntypedObject>(true);

  const policies = config.resource({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', namespace: 'default' });
  const policy = await policies.create({ spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] } });
  policy.spec?.ingress?.[0]?.from?.[0]?.podSelector?.matchLabels?.app?.trim();
  // @ts-expect-error client-node's name, which an API server drops: the policy would allow everything
  void policies.create({ spec: { podSelector: {}, ingress: [{ _from: [] }] } });
  const started: string | undefined = (await config.resource({ apiVersion: 'v1', kind: 'Pod' }).get('a')).status
    ?.startTime;
  const custom = await config.resource({ apiVersion: 'example.dev/v1', kind: 'Widget' }).get('a');
  const spec: unknown = custom.spec;
  // @ts-expect-error the fields of a kind without a model are unknown
  void custom.spec.size;

  // What was sent can be read back: only a time may be a Date.
  const input: WireInput<Wire<V1Pod>> = {
    metadata: { name: 'a', creationTimestamp: new Date() },
    spec: { nodeName: 'b' },
  };
  const node: string | undefined = input.spec?.nodeName;
  // @ts-expect-error a time that is sent may be a Date
  const time: string | undefined = input.metadata?.creationTimestamp;
  assert.ok([started, spec, node, time]);
}

test('the type of an object follows from its apiVersion and kind', () => {
  assert.equal(typeof usage, 'function');
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { build, type Manifest, read } from './kustomized.ts';

describe('examples/deploy/monitoring.yaml', () => {
  test('scrapes the port that the container has, and lets the scrapes in', () => {
    const documents: readonly Manifest[] = parseAllDocuments(read('monitoring.yaml')).map((document) =>
      document.toJS(),
    );
    const [service, monitor, policy] = documents;
    const deployment = build('base').find(({ kind }) => kind === 'Deployment');
    const { metadata, spec } = deployment.spec.template;
    const [port] = spec.containers[0].ports;
    assert.deepEqual(service.spec.selector, metadata.labels);
    assert.deepEqual([service.spec.ports[0].targetPort, service.spec.ports[0].port], [port.name, port.containerPort]);
    assert.deepEqual(monitor.spec.selector.matchLabels, service.metadata.labels);
    assert.equal(monitor.spec.endpoints[0].port, service.spec.ports[0].name);
    assert.deepEqual(policy.spec.podSelector.matchLabels, metadata.labels);
    assert.equal(policy.spec.ingress[0].ports[0].port, port.name);
  });
});

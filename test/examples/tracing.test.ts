import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { request } from 'undici';
import { traceCredentials } from '../../examples/observability/tracing.ts';
import { startFleet } from '../fixtures/fleet.ts';
import { startHub } from '../fixtures/fleet-hub.ts';
import { until } from '../fixtures/until.ts';

test('the example makes a span of each request and each plugin run, with their errors and no secret', async (t) => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  t.after(traceCredentials(provider.getTracer('test')));
  const { cluster, config } = await startFleet(t);
  const send = async (method: 'GET' | 'POST') => {
    const { body } = await request(`${cluster.url}/version?q=secret`, { method, dispatcher: config.dispatcher });
    await body.dump();
  };
  await send('GET');
  cluster.failNext('reset');
  // Nothing sends a POST again.
  await assert.rejects(send('POST'));
  const spans = exporter.getFinishedSpans();
  assert.deepEqual(
    spans.map(({ name, kind, status, attributes }) => [
      name,
      kind,
      status.code,
      attributes.statusCode,
      attributes.path,
    ]),
    [
      ['plugin fake', SpanKind.INTERNAL, SpanStatusCode.UNSET, undefined, undefined],
      [`GET ${cluster.url}`, SpanKind.CLIENT, SpanStatusCode.UNSET, 200, '/version'],
      [`POST ${cluster.url}`, SpanKind.CLIENT, SpanStatusCode.ERROR, undefined, '/version'],
    ],
  );
  assert.ok(!JSON.stringify(spans.map(({ attributes }) => attributes)).includes('token-1'));
  assert.equal(spans[2]?.status.message, 'CONNECTION_LOST');
});

test('the example makes a span of each reconcile, and those of its requests are its children', async (t) => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  t.after(traceCredentials(provider.getTracer('test')));
  const { publish, spoke, run } = await startHub(t);
  publish('one', await spoke());
  run().controller({
    name: 'x',
    for: { apiVersion: 'v1', kind: 'Namespace', fieldSelector: 'metadata.name=default' },
    reconcile: async (_request, { cluster, signal }) => {
      await cluster.config.fetch('/version', { signal });
      throw new Error('not today');
    },
  });
  const named = (name: RegExp) => exporter.getFinishedSpans().filter((span) => name.test(span.name));
  await until(t, () => named(/^reconcile/).length > 0);
  const [reconcile] = named(/^reconcile x$/);
  assert.equal(reconcile?.status.message, 'Error: not today');
  assert.match(String(reconcile?.attributes.triggers), /^\[\{"reason":"start","source":"for","cluster":"fleet\/one"/);
  const ofReconcile = named(/^GET/).filter(
    ({ parentSpanContext }) => parentSpanContext?.spanId === reconcile?.spanContext().spanId,
  );
  assert.deepEqual(
    ofReconcile.map(({ attributes }) => attributes.path),
    ['/version'],
  );
});

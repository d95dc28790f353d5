import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { request } from 'undici';
import { traceCredentials } from '../../examples/observability/tracing.ts';
import { startFleet } from '../fixtures/fleet.ts';

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

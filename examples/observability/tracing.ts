// OpenTelemetry spans for requests and plugin runs, from the events that the package publishes. Import it, and call it once.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';

/** The fields of an event that become attributes of its span. */
type Event = Readonly<Record<string, string | number | boolean>>;

/** Starts to make spans. It returns a function that stops it. */
export function traceCredentials(tracer: Tracer): () => void {
  const ends = [
    trace(tracer, 'request', SpanKind.CLIENT, ({ method, origin }) => `${method} ${origin}`),
    trace(tracer, 'plugin-run', SpanKind.INTERNAL, ({ provider }) => `plugin ${provider}`),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function trace(tracer: Tracer, name: string, kind: SpanKind, title: (event: Event) => string): () => void {
  const spans = new Map<unknown, Span>();
  const channel = `clusterprofile-credentials:${name}`;
  const started = (message: unknown) => {
    const event = message as Event; // docs/observability.md says which fields it has
    spans.set(idOf(event), tracer.startSpan(title(event), { kind, attributes: event }));
  };
  const ended = (message: unknown) => {
    const event = message as Event; // see above
    const span = spans.get(idOf(event));
    spans.delete(idOf(event));
    if (!span) return;
    span.setAttributes(event);
    if (event.code !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: String(event.code) });
    span.end();
  };
  subscribe(`${channel}-start`, started);
  subscribe(`${channel}-end`, ended);
  return () => {
    unsubscribe(`${channel}-start`, started);
    unsubscribe(`${channel}-end`, ended);
  };
}

function idOf({ requestId, runId }: Event): unknown {
  return requestId ?? runId;
}

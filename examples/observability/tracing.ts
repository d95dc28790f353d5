// OpenTelemetry spans for reconciles, requests and plugin runs, from the events that the package publishes. Import it, and call it once.
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace as traces } from '@opentelemetry/api';

/** The fields of an event that become attributes of its span. */
type Event = Readonly<Record<string, string | number | boolean>>;

/** Starts to make spans. It returns a function that stops it. */
export function traceCredentials(tracer: Tracer): () => void {
  const ends = [
    traceReconciles(tracer),
    trace(tracer, 'request', SpanKind.CLIENT, ({ method, origin }) => `${method} ${origin}`),
    trace(tracer, 'plugin-run', SpanKind.INTERNAL, ({ provider }) => `plugin ${provider}`),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** The spans of reconciles under way, by their IDs: those of their requests are their children. */
const reconciles = new Map<unknown, Span>();

function traceReconciles(tracer: Tracer): () => void {
  const channel = tracingChannel('clusterprofile-credentials:reconcile');
  const nothing = () => {};
  const subscribers = {
    start: (message: object) => {
      // docs/observability.md says which fields it has
      const { triggers, ...event } = message as Event & { readonly reconcileId: string };
      const attributes = { ...event, triggers: JSON.stringify(triggers) };
      reconciles.set(event.reconcileId, tracer.startSpan(`reconcile ${event.controller}`, { attributes }));
    },
    asyncEnd: (message: object) => {
      const { reconcileId, error } = message as { readonly reconcileId: string; readonly error?: unknown };
      const span = reconciles.get(reconcileId);
      reconciles.delete(reconcileId);
      if (error) span?.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
      span?.end();
    },
    ...{ end: nothing, asyncStart: nothing, error: nothing },
  };
  channel.subscribe(subscribers);
  return () => channel.unsubscribe(subscribers);
}

function trace(tracer: Tracer, name: string, kind: SpanKind, title: (event: Event) => string): () => void {
  const spans = new Map<unknown, Span>();
  const channel = `clusterprofile-credentials:${name}`;
  const started = (message: unknown) => {
    const event = message as Event; // docs/observability.md says which fields it has
    const parent = reconciles.get(event.reconcileId);
    const context = parent ? traces.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
    spans.set(idOf(event), tracer.startSpan(title(event), { kind, attributes: event }, context));
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

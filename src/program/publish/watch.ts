/** `publish --watch`: rounds until the call's signal aborts, with metrics. */

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Counter, Gauge, Registry } from 'prom-client';
import { printableLines } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { describe } from '../format-error.ts';
import type { Call } from '../verb.ts';
import type { Publisher, Result, RoundResult } from './round.ts';

export interface WatchOptions {
  readonly publisher: Publisher;
  readonly intervalMs: number;
  readonly port: string | undefined;
  readonly show: (call: Call, round: RoundResult, isShown: (result: Result) => boolean) => Promise<void>;
}

/** Prints what changes. A round that fails is repeated after the interval. */
export async function watchSource(
  call: Call,
  first: RoundResult,
  { publisher, intervalMs, port, show }: WatchOptions,
): Promise<ExitCode> {
  const { signal, terminal } = call;
  const metrics = new Metrics();
  if (port !== undefined) await serve(metrics.registry, port, signal);
  metrics.add(first);
  let said = complaintsOf(first);
  while (!signal.aborted) {
    await pause(intervalMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    try {
      const round = await publisher.round(signal);
      metrics.add(round);
      const complaints = complaintsOf(round);
      // What is wrong is said once.
      const isNew = complaints !== said;
      said = complaints;
      const shown = isNew
        ? round
        : { ...round, refused: [], notes: [], vanished: call.options.has('prune') ? round.vanished : [] };
      await show(call, shown, ({ change }) => change !== 'unchanged');
    } catch (error) {
      if (signal.aborted) break;
      metrics.failures.inc();
      const { message } = await describe(error);
      await terminal.say(`${terminal.paint('yellow', 'warning:', terminal.stderr)} ${printableLines(message)}`);
    }
  }
  return exitCodes.interrupted;
}

function complaintsOf({ refused, notes, vanished }: RoundResult): string {
  return JSON.stringify([refused.map(({ origin, message }) => [origin, message]), notes, vanished]);
}

class Metrics {
  readonly registry = new Registry();
  readonly #registers = [this.registry];
  readonly #clusters = new Gauge({
    name: 'clusterprofile_publish_clusters',
    help: 'Published clusters, by the status of ControlPlaneHealthy',
    labelNames: ['healthy'],
    registers: this.#registers,
  });
  readonly #refused = new Gauge({
    name: 'clusterprofile_publish_refused_clusters',
    help: 'Clusters of the source that cannot be published',
    registers: this.#registers,
  });
  readonly #writes = new Counter({
    name: 'clusterprofile_publish_writes_total',
    help: 'ClusterProfiles that were created or updated',
    registers: this.#registers,
  });
  readonly failures = new Counter({
    name: 'clusterprofile_publish_failed_rounds_total',
    help: 'Rounds in which nothing could be published',
    registers: this.#registers,
  });
  readonly #lastRound = new Gauge({
    name: 'clusterprofile_publish_last_round_timestamp_seconds',
    help: 'When the last round that did not fail ended',
    registers: this.#registers,
  });

  add({ results, refused }: RoundResult): void {
    for (const healthy of ['True', 'False', 'Unknown']) {
      this.#clusters.set({ healthy }, results.filter(({ health }) => health?.status === healthy).length);
    }
    this.#refused.set(refused.length);
    this.#writes.inc(results.filter(({ change }) => change !== 'unchanged').length);
    this.#lastRound.setToCurrentTime();
  }
}

/** Serves `/metrics` and `/healthz` until the signal aborts. */
async function serve(registry: Registry, port: string, signal: AbortSignal): Promise<void> {
  const server = createServer(async ({ url }, response) => {
    if (url !== '/metrics' && url !== '/healthz') return void response.writeHead(404).end();
    response.setHeader('content-type', url === '/metrics' ? registry.contentType : 'text/plain');
    response.end(url === '/metrics' ? await registry.metrics() : 'ok');
  });
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 65_536;
  if (number > 65_535) throw new Failure(exitCodes.usage, `--metrics-port ${port}: must be a port`);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new Failure(exitCodes.usage, `--metrics-port ${port}: ${error.message}`)));
    server.listen(number, resolve);
  });
  signal.addEventListener('abort', () => server.close(), { once: true });
}

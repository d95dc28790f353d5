/** `publish --watch`: rounds until the call's signal aborts, with metrics. */

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { describe } from '../format-error.ts';
import { durationOf } from '../input.ts';
import type { Call } from '../verb.ts';
import type { Publisher, RoundResult } from './round.ts';

const defaultInterval = '60s';

/** Prints what changes. A round that fails is repeated after the interval, unless it is the first. */
export async function watchSource(
  { signal, terminal, options }: Call,
  publisher: Publisher,
  show: (round: RoundResult) => Promise<void>,
): Promise<ExitCode> {
  const intervalMs = durationOf('--interval', options.text('interval') ?? defaultInterval);
  const port = options.text('metrics-port');
  const metrics = new Metrics();
  if (port !== undefined) await terminal.say(`metrics on port ${await serve(metrics, port, signal)}`);
  let said: string | undefined;
  while (!signal.aborted) {
    try {
      const round = await publisher.round(signal);
      metrics.add(round);
      const complaints = complaintsOf(round);
      const changed = round.results.filter(({ change }) => change !== 'unchanged');
      const results = said === undefined ? round.results : changed;
      // What is wrong is said once.
      const known = complaints === said ? { refused: [], notes: [], vanished: [] } : {};
      said = complaints;
      await show({ ...round, results, ...known });
    } catch (error) {
      if (signal.aborted) break;
      if (said === undefined) throw error;
      metrics.failed();
      const { message } = describe(error);
      await terminal.warn(message);
    }
    await pause(intervalMs, undefined, { signal }).catch(() => {});
  }
  return exitCodes.interrupted;
}

function complaintsOf({ refused, notes, vanished }: RoundResult): string {
  return JSON.stringify([refused.map(({ origin, message }) => [origin, message]), notes, vanished]);
}

/** In the text format of Prometheus: five numbers need no library. */
class Metrics {
  #last: RoundResult | undefined;
  #writes = 0;
  #failures = 0;
  #endedAt = 0;

  add(round: RoundResult): void {
    this.#last = round;
    this.#writes += round.results.filter(({ change }) => change !== 'unchanged').length;
    this.#endedAt = Date.now() / 1_000;
  }

  failed(): void {
    this.#failures += 1;
  }

  get text(): string {
    const { results = [], refused = [] } = this.#last ?? {};
    const count = (healthy: string) => results.filter(({ health }) => health?.status === healthy).length;
    const clusters = ['True', 'False', 'Unknown'].map((healthy) => [`{healthy="${healthy}"}`, count(healthy)] as const);
    const metric = (name: string, type: string, help: string, values: readonly (readonly [string, number])[]) => {
      const full = `clusterprofile_publish_${name}`;
      const lines = values.map(([labels, value]) => `${full}${labels} ${value}\n`);
      return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
    };
    return [
      metric('clusters', 'gauge', 'Published clusters, by the status of ControlPlaneHealthy', clusters),
      metric('refused_clusters', 'gauge', 'Clusters that cannot be published', [['', refused.length]]),
      metric('writes_total', 'counter', 'ClusterProfiles that were created or updated', [['', this.#writes]]),
      metric('failed_rounds_total', 'counter', 'Rounds that failed as a whole', [['', this.#failures]]),
      metric('last_round_timestamp_seconds', 'gauge', 'When the last good round ended', [['', this.#endedAt]]),
    ].join('');
  }
}

/** Serves `/metrics` and `/healthz` until the signal aborts. Returns the port. */
async function serve(metrics: Metrics, port: string, signal: AbortSignal): Promise<number> {
  const server = createServer(({ url }, response) => {
    if (url !== '/metrics' && url !== '/healthz') return void response.writeHead(404).end();
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    response.end(url === '/metrics' ? metrics.text : 'ok');
  });
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 65_536;
  if (number > 65_535) throw Failure.usage(`--metrics-port ${port}: must be a port`);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(Failure.usage(`--metrics-port ${port}: ${error.message}`)));
    server.listen(number, resolve);
  });
  signal.addEventListener('abort', () => server.close(), { once: true });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : number;
}

/**
 * Returns a signal that aborts at the first SIGTERM or SIGINT (Ctrl-C). A second one has Node's default effect: it ends the process at
 * once. Call it when the program starts, and pass it to `fleet.run`, `forEachCluster` and `LeaderElection`, which release their Leases.
 *
 * @example
 * await fleet.run({ signal: stopSignal() });
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const onSignal = (name: NodeJS.Signals) => {
    for (const other of names) process.removeListener(other, onSignal);
    stop.abort(new DOMException(`stopped by ${name}`, 'AbortError'));
  };
  for (const name of names) process.on(name, onSignal);
  return stop.signal;
}

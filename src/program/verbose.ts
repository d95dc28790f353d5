/** `-v`: shows each request and plugin run on stderr when it has ended. Nothing of it is secret: a request has no query and no headers. */
import { subscribe } from 'node:diagnostics_channel';
import { type Events, printable } from '../diagnose/index.ts';
import type { Terminal } from './terminal.ts';

/** The longest line, in bytes. */
const maxBytes = 2_048;

export function showRequests(terminal: Terminal): void {
  const on = <K extends 'request-end' | 'plugin-run-end'>(name: K, format: (event: Events[K]) => string) =>
    subscribe(`clusterprofile-credentials:${name}`, (message) => {
      const event = message as Events[K]; // telemetry.ts publishes nothing else there
      void terminal.say(printable(`${format(event)}, ${Math.round(event.durationMs)} ms`, maxBytes));
    });
  on('request-end', ({ method, origin, path, statusCode, code }) => {
    return `${method} ${origin}${path}: ${code ?? statusCode ?? 'no answer'}`;
  });
  on('plugin-run-end', ({ command, provider, code, exitCode, signal }) => {
    const end = signal === undefined ? `exit code ${exitCode ?? 'unknown'}` : signal;
    return `plugin ${command} (${provider}): ${[code, end].filter(Boolean).join(', ')}`;
  });
}

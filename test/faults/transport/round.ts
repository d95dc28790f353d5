// One round: hostile servers, a hundred requests of every kind, aborts, rotations and closing, and then a look at what is left.
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { ApiException } from '@kubernetes/client-node';
import { errors } from 'undici';
import { CredentialProviders, CredentialsError, type RestConfig } from '../../../src/index.ts';
import { createCertificateAuthority, type TestPlugin } from '../../../src/testing/index.ts';
import { Random } from '../../fixtures/random.ts';
import { profileAt } from '../../fixtures/raw-h2.ts';
import type { WatchedBody } from './bodies.ts';
import { callers, Own } from './callers.ts';
import { startHostile } from './hostile-server.ts';
import { LeftOver } from './left-over.ts';
import { healthyProvider, type Neighbour } from './neighbour.ts';

/** For each time that a request is sent. */
const requestTimeoutMs = 1_000;
/** Milliseconds until a request has ended that is sent again ten times. */
const longestMs = 11 * requestTimeoutMs + 10_000;
/** Milliseconds for what has to happen at once, on a machine that is busy. */
const slackMs = 10_000;
const requests = 80;

const authority = createCertificateAuthority('round');
const pairs = ['first', 'second'].map((commonName) => {
  const { certificate, key } = authority.issue({ commonName });
  return { clientCertificateData: certificate, clientKeyData: key };
});

/** A number for a text, to draw by (FNV-1a). */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.charCodeAt(0), 0x01000193);
  return value;
}

export interface Plugins {
  readonly hostile: TestPlugin;
  readonly healthy: TestPlugin;
}

/** Whether an error is one that a caller can do something with: this package's, or what the caller itself has thrown. */
function codeOf(error: unknown, signal: AbortSignal): string | undefined {
  const { aborted, reason } = signal;
  if (aborted && error === reason) return 'given up';
  // undici's stream looks at the signal before the dispatcher does.
  if (aborted && error instanceof errors.RequestAbortedError) return 'given up';
  if (error instanceof Own) return "the caller's own";
  if (error instanceof CredentialsError) return error.code;
  if (error instanceof ApiException) return `status ${error.code}`;
  // client-node's own, for an answer that it cannot parse.
  if (error instanceof SyntaxError) return 'no JSON';
  // Of fetch, which wraps each error.
  if (error instanceof TypeError && error.cause !== undefined) return codeOf(error.cause, signal);
  return undefined;
}

export async function playRound(seed: string, plugins: Plugins, neighbour: Neighbour) {
  const plugin = plugins.hostile;
  const draw = (name: string) => new Random(hash(`${seed} ${name}`));
  const random = draw('round');
  const faults: string[] = [];
  /** How many ended with which code. */
  const codes = new Map<string, number>();
  const left = new LeftOver();
  const heldBefore = holding().length;
  const servers = await Promise.all([
    startHostile(['h2', 'http/1.1'], (name) => draw(`a ${name}`)),
    startHostile(random.chance(0.5) ? ['h2'] : ['http/1.1'], (name) => draw(`b ${name}`)),
  ]);
  const certified = random.chance(0.4);
  let rotation = 0;
  const answer = () => plugin.answer({ token: `token-${rotation}`, ...(certified ? pairs[rotation % 2] : {}) });
  await answer();
  const execConfig = ({ command }: TestPlugin) => ({ apiVersion: 'client.authentication.k8s.io/v1', command }) as const;
  const entries = [
    { name: 'fake', execConfig: execConfig(plugin) },
    { name: healthyProvider, execConfig: execConfig(plugins.healthy) },
  ];
  const providers = new CredentialProviders(entries, {
    logger: { warn: () => undefined },
    connectTimeoutMs: 500,
    requestTimeoutMs,
  });
  const configs = servers.map(({ port }) => providers.getConfig(profileAt(port)));
  const rotate = async () => {
    rotation += 1;
    await answer();
    for (const config of configs) config.invalidate();
  };
  if (random.chance(0.5)) await Promise.allSettled(configs.map((config) => config.ready()));

  const bodies: { readonly name: string; readonly body: WatchedBody }[] = [];
  const kinds = new Map<string, string>();
  let answered = 0;
  const call = async (index: number): Promise<void> => {
    const mine = draw(`call ${index}`);
    const [kind, caller] = mine.pick(Object.entries(callers));
    const which = mine.pick([0, 1]);
    const name = `${kind} (${index})`;
    const server = servers[which];
    const config = configs[which];
    if (!server || !config) return;
    await pause(300 * mine.next());
    const path = `/api/v1/things?id=${which}-${index}`;
    kinds.set(path, kind);
    const reason = new Error(`given up: ${name}`);
    const given = new AbortController();
    const isLong = /watch/.test(kind);
    const gives = isLong || mine.chance(0.3);
    const ms = mine.pick([0, 1, 5, 30, 200, 600]) * mine.next();
    if (gives && ms === 0) given.abort(reason);
    const timer = gives ? setTimeout(() => given.abort(reason), ms) : undefined;
    const mineBodies: WatchedBody[] = [];
    const began = performance.now();
    const ended = caller({
      config,
      url: `${server.url}${path}`,
      path,
      signal: given.signal,
      random: mine,
      bodies: mineBodies,
      fault: (what) => faults.push(`${name}: ${what}`),
    }).then(
      () => {
        answered += 1;
      },
      (error: unknown) => {
        const code = codeOf(error, given.signal);
        if (code === undefined)
          faults.push(`${name} failed with an error that is not ours: ${inspect(error, { depth: 4 })}`);
        else codes.set(code, (codes.get(code) ?? 0) + 1);
      },
    );
    const late = new AbortController();
    const limit = pause(longestMs + slackMs, 'late', { signal: late.signal }).catch(() => undefined);
    if ((await Promise.race([ended, limit])) === 'late')
      faults.push(`${name} has not ended after ${Math.round(performance.now() - began)} ms`);
    late.abort();
    clearTimeout(timer);
    for (const body of mineBodies) bodies.push({ name, body });
  };
  const calls = Promise.all(Array.from({ length: requests }, (_, index) => call(index)));
  let over = false;
  const healthy = neighbour
    .ask(providers, () => over)
    .catch((error: unknown) => {
      faults.push(`a request to the healthy cluster failed: ${error}`);
    });
  await disturb(random, providers, configs, rotate);
  await calls;
  over = true;
  await healthy;

  /** Waits until nothing of it is left; what then is left is a fault. */
  const gone = async (what: string, look: () => readonly string[]) => {
    const patience = performance.now() + slackMs / 2;
    while (look().length > 0) {
      if (performance.now() > patience) {
        faults.push(`${what}: ${look().slice(0, 5).join(', ')}`);
        return;
      }
      await pause(10);
    }
  };
  // undici's fetch goes on reading a body after its request has failed, whatever the dispatcher.
  const dispatched = bodies.filter(({ name }) => !name.startsWith('fetch'));
  await gone('bodies that nobody closed after their requests', () =>
    dispatched.filter(({ body }) => body.read > 0 && !body.over).map(({ name }) => name),
  );
  for (const { body } of bodies) body.stop();
  await gone('streams that are open after their requests', () =>
    left.streams().map((path) => `${path} ${kinds.get(path)}`),
  );
  const closed = providers.close().then(() => 'closed');
  if ((await Promise.race([closed, pause(slackMs, 'late', { ref: false })])) === 'late')
    faults.push('close() does not end');
  const ports = new Set(servers.map(({ port }) => port));
  await gone('open after close()', () => left.sockets(ports));
  left.stop();
  for (const server of servers) {
    server.close();
    faults.push(...server.arrivals.faults);
  }
  await gone('what holds the process after close()', () => holding().slice(heldBefore));
  const arrivals = servers.reduce((sum, server) => sum + server.arrivals.count, 0);
  return { requests, arrivals, answered, faults, codes };
}

/** Timers of this process, and sockets that no server has taken, that keep it from ending. */
function holding(): readonly string[] {
  const timers = process.getActiveResourcesInfo().filter((name) => /^(?:Timeout|Immediate|TCPConnect)/.test(name));
  // What is documented does not say whose a socket is; those of a hostile server may be left behind by Node itself.
  const handles: unknown = Reflect.get(process, '_getActiveHandles').call(process);
  const sockets = [handles].flat().filter((handle) => handle instanceof Socket && !Reflect.get(handle, 'server'));
  return [...timers, ...sockets.map(() => 'a socket')];
}

/** What happens to all of them at some moment. */
async function disturb(
  random: Random,
  providers: CredentialProviders,
  configs: readonly RestConfig[],
  rotate: () => Promise<void>,
): Promise<void> {
  await pause(500 * random.next());
  const one = random.pick(configs);
  await random.weighted<() => unknown>([
    [4, () => undefined],
    [3, rotate],
    [
      2,
      async () => {
        await rotate();
        await rotate();
      },
    ],
    [2, () => providers.close()],
    [1, () => one.close()],
    [1, () => one.dispatcher.close()],
    [1, () => one.dispatcher.destroy(new Own('destroyed'))],
  ])();
}

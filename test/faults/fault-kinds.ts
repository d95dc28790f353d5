// What may go wrong: plugin, server, credential, clock, and the program itself.
import { setTimeout } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { fetch } from 'undici';
import type { PluginAnswer } from '../../src/testing/index.ts';
import { malformed, sendMalformed } from '../fixtures/malformed.ts';
import type { Random } from '../fixtures/random.ts';
import { timeoutMs, type World } from './world.ts';

/** One that goes on until it is healed. */
export interface Fault {
  readonly name: string;
  begin(): void | Promise<void>;
  end?(): void | Promise<void>;
}

/** The faults that are drawn from. */
export function faultsOf(world: World, random: Random): readonly Fault[] {
  const { cluster, config, plugin, profile, rotate } = world;
  const badPlugin = (name: string, answer: PluginAnswer): Fault => ({
    name,
    begin: async () => {
      await plugin.answer(answer);
      rotate();
    },
  });
  return [
    badPlugin('plugin fails', { exitCode: 1, stderr: 'no' }),
    badPlugin('plugin hangs', { token: 'late', delayMs: 3 * timeoutMs }),
    badPlugin('plugin prints nonsense', { stdout: '{' }),
    badPlugin('plugin lies', { token: 'wrong' }),
    badPlugin('plugin answers with an expired credential', {
      token: 'old',
      expirationTimestamp: '2001-01-01T00:00:00Z',
    }),
    {
      name: 'server refuses everybody',
      begin: () => cluster.setTokens({}),
      end: world.acceptToken,
    },
    { name: 'token is rotated', begin: rotate },
    {
      name: 'server redirects to another tenant',
      begin: () => cluster.failNext({ redirect: '/v1/projects/2/x' }, 100),
    },
    { name: 'server answers 503', begin: () => cluster.failNext(503, 100) },
    { name: 'server resets streams', begin: () => cluster.failNext('reset', 100) },
    { name: 'connections break', begin: () => cluster.closeConnections() },
    { name: 'server drains', begin: () => cluster.goAway() },
    { name: 'server is away', begin: () => cluster.close(), end: () => cluster.restart() },
    { name: 'server restarts', begin: () => cluster.restart() },
    { name: 'clock steps forward', begin: () => world.stepClock(600_000) },
    { name: 'clock steps back', begin: () => world.stepClock(-600_000) },
    {
      name: 'callers send malformed requests',
      begin: async () => {
        const makers = Object.values(malformed);
        for (let i = 0; i < 20; i++) {
          await sendMalformed(config.dispatcher, random.pick(makers)());
        }
      },
    },
    {
      name: 'callers give up',
      begin: async () => {
        const requests = Array.from({ length: 50 }, async () => {
          const signal = AbortSignal.timeout(Math.floor(50 * random.next()));
          await fetch(`${cluster.url}/api/v1/namespaces`, { dispatcher: config.dispatcher, signal }).catch(
            () => undefined,
          );
        });
        await Promise.all(requests);
      },
    },
    {
      name: 'other providers are closed in the middle of it',
      begin: async () => {
        const other = world.startProviders();
        const theirs = other.getConfig(profile);
        const requests = Array.from({ length: 20 }, () =>
          theirs
            .makeApiClient(CoreV1Api)
            .listNamespace()
            .catch(() => undefined),
        );
        await setTimeout(50 * random.next());
        await other.close();
        await Promise.all(requests);
      },
    },
    { name: 'nothing', begin: () => {} },
  ];
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CoordinationV1Api } from '@kubernetes/client-node';
import { Random } from '../fixtures/random.ts';
import { adminFile, lifetimeOf, startPlane } from './fixture.ts';
import { type Contender, type Leading, type Side, startContender, timing } from './shards/contender.ts';

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;
const faults = ['kill -9', 'SIGSTOP', 'SIGTERM'] as const;
type Fault = (typeof faults)[number];
/** Longer than a Lease lasts. */
const stopMs = timing.leaseDurationMs + 1_000;

test("client-go's leader election and ours, on one Lease: never do both lead, whoever is killed, stopped or ends", async (t) => {
  const life = lifetimeOf(t);
  const plane = await startPlane(life, 'leader');
  const kubeconfig = await adminFile(t, plane);
  const place = { program: process.env.E2E_LEADER ?? '', kubeconfig, namespace: 'default', name: 'contended' };
  const all: Contender[] = [];
  life.after(() => {
    for (const { signal } of all) signal('SIGKILL');
    return Promise.all(all.map(({ ended }) => ended));
  });
  const start = (side: Side) => {
    const contender = startContender(side, `${side}-${all.length}`, place);
    all.push(contender);
    return contender;
  };
  /** The terms of all, in their order. */
  const terms = () => all.flatMap((contender) => contender.terms).toSorted((a, b) => a.from - b.from);
  /** Who leads after a moment. */
  const nextLeader = async (after: number, not?: Contender): Promise<Leading> => {
    const patience = performance.now() + 60_000;
    for (;;) {
      const leading = terms().find(({ identity, from, to }) =>
        not ? identity !== not.identity && from > after : to > after,
      );
      if (leading) return leading;
      if (performance.now() > patience) {
        assertAlone(terms());
        assert.fail(`nobody leads for a minute after ${not?.identity ?? 'the start'}`);
      }
      await pause(20);
    }
  };
  const living = new Map<Side, Contender>();
  const strike = async (fault: Fault, leader: Contender): Promise<Leading> => {
    const began = monotonic();
    leader.signal(fault === 'kill -9' ? 'SIGKILL' : fault);
    const next = await nextLeader(began, leader);
    if (fault === 'SIGSTOP') {
      // It goes on beside the new one, and finds out that it leads no more.
      leader.signal('SIGCONT');
      await pause(500);
    } else {
      await leader.ended;
    }
    return next;
  };

  // By turns: who leads is struck, and the other one takes over.
  for (const side of ['client-go', 'ours'] as const) living.set(side, start(side));
  const takeovers = new Map<string, number[]>();
  let led = await nextLeader(0);
  for (const fault of [...faults, ...faults].flatMap((one) => [one, one])) {
    const leader = [...living.values()].find(({ identity }) => identity === led.identity);
    assert.ok(leader, `${led.identity} leads, which has ended`);
    const other = living.get(leader.side === 'ours' ? 'client-go' : 'ours');
    // It has started, and contends.
    while (!other?.leaders.includes(led.identity)) await pause(20);
    const next = await strike(fault, leader);
    assert.equal(next.identity, other.identity);
    if (fault !== 'SIGSTOP') living.set(leader.side, start(leader.side));
    const what = `${fault} of ${leader.side}`;
    takeovers.set(what, [...(takeovers.get(what) ?? []), next.from - led.to]);
    led = next;
  }
  const struck = [...takeovers.values()].flat().length;
  const coordination = plane.admin.makeApiClient(CoordinationV1Api);
  const { spec } = await coordination.readNamespacedLease({ namespace: 'default', name: 'contended' });
  assert.equal(spec?.leaseTransitions, struck, 'both count how often it went from one to another');
  assert.equal(spec?.holderIdentity, led.identity);
  assert.equal(spec?.leaseDurationSeconds, timing.leaseDurationMs / 1_000);

  // Two of each, and whatever comes.
  const random = new Random(Number(process.env.E2E_SEED ?? 1));
  const crowd = [...living.values(), start('client-go'), start('ours')];
  const until = performance.now() + 40_000;
  let strikes = 0;
  while (performance.now() < until) {
    const index = Math.floor(random.next() * crowd.length);
    const victim = crowd[index] ?? assert.fail('nobody contends');
    const fault = random.pick(faults);
    strikes += 1;
    victim.signal(fault === 'kill -9' ? 'SIGKILL' : fault);
    if (fault === 'SIGSTOP') {
      await pause(random.next() * stopMs);
      victim.signal('SIGCONT');
    } else {
      await victim.ended;
      crowd[index] = start(victim.side);
    }
    await pause(random.next() * 2_000);
  }
  await nextLeader(monotonic());
  for (const { signal } of crowd) signal('SIGTERM');
  await Promise.all(crowd.map(({ ended }) => ended));
  const last = await coordination.readNamespacedLease({ namespace: 'default', name: 'contended' });
  assert.equal(last.spec?.holderIdentity ?? '', '', 'whoever led last gave it away');

  const sequence = terms();
  assertAlone(sequence);
  const seen = (side: Side) => new Set(all.filter((one) => one.side === side).flatMap(({ leaders }) => leaders));
  for (const side of ['client-go', 'ours'] as const)
    for (const { identity } of sequence.slice(0, struck)) assert.ok(seen(side).has(identity), `${side}: ${identity}`);
  for (const [what, times] of takeovers) {
    const told = times.map((ms) => `${(ms / 1_000).toFixed(2)} s`).join(', ');
    t.diagnostic(`nobody led after ${what}: ${told}`);
  }
  t.diagnostic(`${sequence.length} terms, ${strikes + struck} processes struck, none led beside another`);
});

/** Fails where one led after another one had begun. In the order in which they began. */
function assertAlone(terms: readonly Leading[]): void {
  for (const [index, { identity, from }] of terms.entries()) {
    const [before] = terms.slice(0, index).toSorted((a, b) => b.to - a.to);
    if (before)
      assert.ok(before.to < from, `${before.identity} led for ${before.to - from} ms after ${identity} began`);
  }
}

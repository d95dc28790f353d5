import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Registry } from 'prom-client';
import { FleetError, FleetMetrics, LeaderElection, type LeaderElectionOptions } from '../../src/fleet/index.ts';
import type { LeaseSpec } from '../../src/fleet/lease/lease.ts';
import { ConfigurationError } from '../../src/index.ts';
import { FakeCluster } from '../../src/testing/index.ts';
import { kubeConfigFor } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

const leaseName = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace: 'default', name: 'reports' },
};

/** Between two tries of who does not lead, with `retryPeriodMs: 1_000`. */
const isRetry = (ms: number) => ms >= 1_000 && ms <= 2_200;

/** An API server, and processes that contend for a Lease on it, each with a clock of its own. */
async function startElection(t: TestContext) {
  const hub = await FakeCluster.start({ tokens: { hub: 'controller' } });
  t.after(() => hub.close());
  const contend = (identity: string, options: Partial<LeaderElectionOptions> = {}) => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const settings = { hub: kubeConfigFor(hub, 'hub'), namespace: 'default', name: 'reports', identity, clock, logger };
    const election = new LeaderElection({ ...settings, ...options });
    const stop = new AbortController();
    const events: string[] = [];
    const work = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    const run = (until: Promise<unknown> | undefined = undefined) => {
      const running = election.run({
        signal: stop.signal,
        onStartedLeading: (given) => {
          signal = given;
          events.push('started');
          return until;
        },
        onStoppedLeading: () => events.push('stopped'),
        onNewLeader: (leader) => events.push(`leader ${leader}`),
      });
      // Whatever becomes of the test, it ends.
      t.after(async () => {
        stop.abort();
        work.resolve();
        for (let ended = false; !ended; clock.advance(1_000)) {
          running.then(
            () => (ended = true),
            () => (ended = true),
          );
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      return running;
    };
    const signalOf = () => signal ?? assert.fail('it does not lead');
    return { election, clock, warnings, events, stop, run, work, signal: signalOf };
  };
  const spec = () => (hub.get(leaseName)?.spec ?? {}) as LeaseSpec; // the API server has looked at it
  const version = () => hub.get(leaseName)?.metadata.resourceVersion;
  /** Lets one contender try again, and waits until it has been answered. */
  const retry = async ({ clock }: { clock: ManualClock }) => {
    await clock.waiting(isRetry);
    const before = hub.stats.requests;
    clock.advance(2_200);
    await until(t, () => hub.stats.requests > before);
    await clock.waiting(isRetry);
  };
  return { hub, contend, spec, version, retry };
}

/** The time of a leader goes on in steps in which it renews. */
async function renew(t: TestContext, { clock }: { clock: ManualClock }, version: () => unknown): Promise<void> {
  await clock.waiting((ms) => ms === 2_000);
  const before = version();
  clock.advance(2_000);
  await until(t, () => version() !== before);
}

describe('a leader election', () => {
  test('writes the record of client-go, and renews it', async (t) => {
    const { contend, spec, version } = await startElection(t);
    const one = contend('one');
    assert.equal(one.election.leader, undefined);
    one.run();
    await until(t, () => one.events.includes('started'));
    const first = spec();
    assert.equal(first.holderIdentity, 'one');
    assert.equal(first.leaseDurationSeconds, 15);
    assert.equal(first.leaseTransitions, 0);
    assert.equal(first.acquireTime, first.renewTime);
    assert.match(String(first.renewTime), /^1970-01-01T00:16:40\.\d{6}Z$/);
    await renew(t, one, version);
    assert.equal(spec().acquireTime, first.acquireTime);
    assert.equal(spec().renewTime, '1970-01-01T00:16:42.000000Z');
    assert.equal(spec().leaseTransitions, 0);
    assert.deepEqual([one.election.leader, one.election.isLeader], ['one', true]);
    assert.deepEqual(one.events, ['leader one', 'started']);
  });

  test('waits for the whole duration after the last change that it saw, by its own clock', async (t) => {
    const { hub, contend, spec, version, retry } = await startElection(t);
    const renewTime = '2099-01-01T00:00:00.000000Z';
    const held = { holderIdentity: 'go', leaseDurationSeconds: 15, acquireTime: renewTime, renewTime };
    hub.set({ ...leaseName, spec: { ...held, leaseTransitions: 4 } });
    const two = contend('two', { retryPeriodMs: 1_000 });
    two.run();
    await until(t, () => two.events.includes('leader go'));
    for (let tries = 0; tries < 6; tries++) await retry(two);
    // 13.2 s later a sign of life: all of it counts again.
    hub.set({ ...leaseName, spec: { ...held, leaseTransitions: 4, renewTime: '2099-01-01T00:00:01.000000Z' } });
    for (let tries = 0; tries < 7; tries++) await retry(two);
    assert.deepEqual(two.events, ['leader go']);
    const before = version();
    await two.clock.waiting(isRetry);
    two.clock.advance(2_200);
    await until(t, () => version() !== before);
    assert.equal(spec().holderIdentity, 'two');
    assert.equal(spec().leaseTransitions, 5);
    assert.notEqual(spec().acquireTime, renewTime);
    await until(t, () => two.events.includes('leader two'));
  });

  test('takes a Lease that nobody has, and one that is its own, at once', async (t) => {
    for (const holderIdentity of ['', 'two']) {
      const { hub, contend, spec } = await startElection(t);
      hub.set({ ...leaseName, spec: { holderIdentity, leaseDurationSeconds: 3_600, leaseTransitions: 7 } });
      const two = contend('two', { retryPeriodMs: 1_000 });
      two.run();
      await until(t, () => two.events.includes('started'));
      assert.equal(spec().leaseTransitions, holderIdentity === 'two' ? 7 : 8);
    }
  });

  test('is renewed while the work comes to its end after a cancel, and then given away', async (t) => {
    const { contend, spec, version, retry } = await startElection(t);
    const [one, two] = [contend('one'), contend('two', { retryPeriodMs: 1_000 })];
    const running = one.run(one.work.promise);
    await until(t, () => one.events.includes('started'));
    two.run();
    await until(t, () => two.events.includes('leader one'));
    one.stop.abort(new Error('the pod goes'));
    assert.match(String(one.signal().reason), /the pod goes/);
    await renew(t, one, version);
    assert.equal(spec().holderIdentity, 'one');
    assert.ok(!one.events.includes('stopped'));
    one.work.resolve();
    await running;
    assert.deepEqual(one.events, ['leader one', 'started', 'stopped']);
    assert.equal(one.election.isLeader, false);
    assert.equal(spec().holderIdentity, '');
    assert.equal(spec().leaseDurationSeconds, 1);
    await retry(two);
    assert.equal(spec().holderIdentity, 'two');
    assert.equal(spec().leaseTransitions, 1);
  });

  test('does not begin where it is cancelled while it takes the Lease, and gives it away', async (t) => {
    const { hub, contend, spec } = await startElection(t);
    const one = contend('one');
    hub.onRequest = ({ method }) => {
      if (method === 'POST') one.stop.abort();
    };
    await one.run();
    assert.ok(!one.events.includes('started'));
    assert.equal(spec().holderIdentity, '');
  });

  test('says that the Lease could not be given away where others write it each time', async (t) => {
    const { hub, contend } = await startElection(t);
    const one = contend('one');
    const running = one.run();
    await until(t, () => one.events.includes('started'));
    hub.failNext(409, 1_000, ({ method }) => method === 'PUT');
    one.stop.abort();
    await running;
    assert.match(
      one.warnings.join(),
      /^the Lease is not given away, so others wait .*: it was changed by others each time/,
    );
  });

  test('keeps the Lease after a cancel where it is told to', async (t) => {
    const { contend, spec } = await startElection(t);
    const one = contend('one', { releaseOnCancel: false });
    const running = one.run();
    await until(t, () => one.events.includes('started'));
    one.stop.abort();
    await running;
    assert.equal(spec().holderIdentity, 'one');
  });

  test('ends before anybody else begins: at the deadline after the start of its last renewal', async (t) => {
    const { hub, contend, version } = await startElection(t);
    const one = contend('one');
    const running = one.run(one.work.promise);
    await until(t, () => one.events.includes('started'));
    await renew(t, one, version);
    await one.clock.waiting((ms) => ms === 2_000);
    const seen: string[] = [];
    hub.onRequest = ({ method }) => seen.push(method);
    hub.failNext('hang', 1_000_000);
    one.clock.advance(2_000);
    await until(t, () => seen.length > 0);
    one.clock.advance(7_999);
    assert.equal(one.election.isLeader, true);
    assert.equal(one.signal().aborted, false);
    one.clock.advance(1);
    assert.equal(one.election.isLeader, false);
    await until(t, () => one.signal().aborted);
    const { reason } = one.signal();
    assert.ok(reason instanceof FleetError);
    assert.equal(reason.code, 'LEASE_LOST');
    assert.match(
      reason.message,
      /^one leads no more, it has lost Lease default\/reports: it could not be renewed for 10000 ms/,
    );
    await until(t, () => one.events.includes('stopped'));
    assert.deepEqual(one.warnings.filter((line) => line.includes('leads no more')).length, 1);
    // The work has not ended yet, so run has not either.
    assert.equal(await Promise.race([running.then(() => 'ended'), Promise.resolve('goes on')]), 'goes on');
    one.work.resolve();
    for (const end = { ed: false }; !end.ed; one.clock.advance(1_000)) {
      running.then(() => (end.ed = true));
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test('ends at once when somebody else has the Lease', async (t) => {
    const { hub, contend, spec } = await startElection(t);
    const one = contend('one');
    const running = one.run();
    await until(t, () => one.events.includes('started'));
    hub.set({ ...leaseName, spec: { ...spec(), holderIdentity: 'two' } });
    await one.clock.waiting((ms) => ms === 2_000);
    one.clock.advance(2_000);
    await running;
    assert.match(one.signal().reason.message, /two has it$/);
    assert.deepEqual(one.events, ['leader one', 'started', 'leader two', 'stopped']);
    assert.equal(spec().holderIdentity, 'two');
  });

  test('outlives a hub that is away for less than the deadline, and says so once', async (t) => {
    const { hub, contend, version } = await startElection(t);
    const one = contend('one');
    one.run();
    await until(t, () => one.events.includes('started'));
    hub.failNext(503, 3);
    for (let failures = 1; failures <= 3; failures++) {
      await one.clock.waiting((ms) => ms === 2_000);
      const before = hub.stats.requests;
      one.clock.advance(2_000);
      await until(t, () => hub.stats.requests > before);
    }
    await renew(t, one, version);
    assert.equal(one.election.isLeader, true);
    assert.equal(one.warnings.length, 1);
    assert.match(
      one.warnings.join(),
      /^the Lease cannot be had or renewed at the moment: PUT Lease default\/reports: status 503/,
    );
  });

  test('writes a Lease again that somebody deleted, before another contender takes it', async (t) => {
    const { hub, contend, spec, retry } = await startElection(t);
    const [one, two] = [contend('one'), contend('two', { retryPeriodMs: 1_000 })];
    one.run();
    await until(t, () => one.events.includes('started'));
    two.run();
    await until(t, () => two.events.includes('leader one'));
    hub.delete(leaseName);
    await retry(two);
    assert.equal(hub.get(leaseName), undefined);
    await one.clock.waiting((ms) => ms === 2_000);
    one.clock.advance(2_000);
    await until(t, () => hub.get(leaseName) !== undefined);
    assert.equal(spec().holderIdentity, 'one');
    assert.equal(one.election.isLeader, true);
  });

  test('gives the Lease away when the work fails, and rejects with its error', async (t) => {
    const { contend, spec } = await startElection(t);
    const one = contend('one');
    const running = one.run(one.work.promise);
    await until(t, () => one.events.includes('started'));
    one.work.reject(new Error('no disk'));
    await assert.rejects(running, /no disk/);
    assert.equal(spec().holderIdentity, '');
    assert.deepEqual(one.events, ['leader one', 'started', 'stopped']);
    one.events.length = 0;
    one.run();
    await until(t, () => one.events.includes('started'));
  });

  test('says which permission it lacks', async (t) => {
    const { hub, contend } = await startElection(t);
    hub.failNext(403, 1);
    const one = contend('one');
    one.run();
    await until(t, () => one.warnings.length > 0);
    assert.match(
      one.warnings.join(),
      /: allow the verbs get, create and update on leases\.coordination\.k8s\.io in namespace default$/,
    );
  });

  test('tells a metric who leads', async (t) => {
    const { contend } = await startElection(t);
    const registry = new Registry();
    const one = contend('one', { metrics: new FleetMetrics({ registry }) });
    const status = async () => /^leader_election_master_status.* (\d)$/m.exec(await registry.metrics())?.[1];
    assert.equal(await status(), '0');
    const running = one.run();
    await until(t, async () => (await status()) === '1');
    one.stop.abort();
    await running;
    assert.equal(await status(), '0');
  });

  test('refuses options that cannot work, all of them at once', () => {
    const hub = kubeConfigFor({ url: 'https://127.0.0.1:1', certificateAuthorityData: '' } as FakeCluster, 'hub');
    const problemsOf = (options: object) => {
      try {
        new LeaderElection({ hub, namespace: 'default', name: 'reports', ...options });
      } catch (error) {
        assert.ok(error instanceof ConfigurationError);
        return error.problems.map(({ path, message }) => `${path} ${message}`);
      }
      return [];
    };
    assert.deepEqual(problemsOf({}), []);
    assert.deepEqual(problemsOf({ leaseDurationMs: 10_000 }), [
      'renewDeadlineMs must be less than leaseDurationMs (10000)',
    ]);
    assert.deepEqual(problemsOf({ retryPeriodMs: 9_000 }), [
      'retryPeriodMs must be less than 8333: renewDeadlineMs / 1.2',
    ]);
    assert.deepEqual(problemsOf({ leaseDurationMs: 15_500, name: '', identity: '' }), [
      'name must be the name of a Lease',
      'identity must be a text that no other process has',
      'leaseDurationMs must be whole seconds in milliseconds: 15_000 for 15 s',
    ]);
  });

  test('is another one for each process unless it is told', () => {
    const hub = kubeConfigFor({ url: 'https://127.0.0.1:1', certificateAuthorityData: '' } as FakeCluster, 'hub');
    const [one, two] = [1, 2].map(() => new LeaderElection({ hub, namespace: 'default', name: 'reports' }).identity);
    assert.notEqual(one, two);
    assert.match(String(one), /_[0-9a-f-]{36}$/);
  });
});

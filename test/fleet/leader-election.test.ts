import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { FleetMetrics, LeaderElection } from '../../src/fleet/index.ts';
import { isRetry, leaseName, renew, startElection } from '../fixtures/election.ts';
import { restConfigFor } from '../fixtures/fleet-hub.ts';
import { problemsIn } from '../fixtures/thrown.ts';
import { until } from '../fixtures/until.ts';

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

  test('takes a Lease that is free, and one that is its own, at once', async (t) => {
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

  test('gives the Lease away when the work fails, and rejects with its error', async (t) => {
    const { lead, spec } = await startElection(t);
    const one = await lead('one', { works: true });
    one.work.reject(new Error('no disk'));
    await assert.rejects(one.running, /no disk/);
    assert.equal(spec().holderIdentity, '');
    assert.deepEqual(one.events, ['leader one', 'started', 'stopped']);
    one.events.length = 0;
    one.run();
    await until(t, () => one.events.includes('started'));
  });

  test('shows in a metric which process leads', async (t) => {
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
    const hub = restConfigFor({ url: 'https://127.0.0.1:1', certificateAuthorityData: '' }, 'hub');
    const make = (options: object) => new LeaderElection({ hub, namespace: 'default', name: 'reports', ...options });
    const problemsOf = (options: object) => problemsIn(() => make(options));
    make({});
    assert.deepEqual(problemsOf({ leaseDurationMs: 10_000 }), [
      'renewDeadlineMs must be less than leaseDurationMs (10000)',
    ]);
    assert.deepEqual(problemsOf({ retryPeriodMs: 9_000 }), [
      'retryPeriodMs must be less than 8333: renewDeadlineMs / 1.2',
    ]);
    assert.deepEqual(problemsOf({ leaseDurationMs: 15_500, namespace: 'Default', name: '', identity: '' }), [
      'namespace must be the name of a namespace: lower case letters, digits and -, 63 characters at most',
      'name must be the name of a Lease: lower case letters, digits, - and ., 253 characters at most',
      'identity must be a text that no other process has',
      'leaseDurationMs must be whole seconds in milliseconds: 15_000 for 15 s',
    ]);
  });

  test('is another one for each process by default', () => {
    const hub = restConfigFor({ url: 'https://127.0.0.1:1', certificateAuthorityData: '' }, 'hub');
    const [one, two] = [1, 2].map(() => new LeaderElection({ hub, namespace: 'default', name: 'reports' }).identity);
    assert.notEqual(one, two);
    assert.match(String(one), /_[0-9a-f-]{36}$/);
  });
});

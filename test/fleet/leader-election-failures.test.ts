import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FleetError } from '../../src/fleet/index.ts';
import { isRetry, leaseName, renew, startElection } from '../fixtures/election.ts';
import { until } from '../fixtures/until.ts';

describe('a leader election, where something goes wrong,', () => {
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

  test('gives the Lease away after a conflict too, as client-go 1.37 does', async (t) => {
    const { hub, lead, spec } = await startElection(t);
    const one = await lead('one');
    hub.failNext(409, 1, ({ method }) => method === 'PUT');
    one.stop.abort();
    await one.running;
    assert.equal(spec().holderIdentity, '');
    assert.deepEqual(one.warnings, []);
  });

  test('says that the Lease could not be given away where others write it each time', async (t) => {
    const { hub, lead } = await startElection(t);
    const one = await lead('one');
    hub.failNext(409, 1_000, ({ method }) => method === 'PUT');
    one.stop.abort();
    await one.running;
    const said = /^the Lease was not released, so others wait .*: others changed it at each attempt/;
    assert.match(one.warnings.join(), said);
  });

  test('ends before anybody else begins: at the deadline after the start of its last renewal', async (t) => {
    const { hub, lead, version } = await startElection(t);
    const one = await lead('one', { works: true });
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
    assert.ok(reason instanceof FleetError && reason.code === 'LEASE_LOST', String(reason));
    const why = /^one no longer leads: it lost Lease default\/reports: it could not be renewed for 10000 ms/;
    assert.match(reason.message, why);
    await until(t, () => one.events.includes('stopped'));
    assert.deepEqual(one.warnings.filter((line) => line.includes('no longer leads')).length, 1);
    // The work has not ended yet, so run has not either.
    assert.equal(await Promise.race([one.running.then(() => 'ended'), Promise.resolve('goes on')]), 'goes on');
  });

  test('asks again at once after a renewal that hung, so that a hub of a second an answer does not lose its leader to one lost packet', async (t) => {
    const { hub, lead, version } = await startElection(t);
    const one = await lead('one');
    await one.clock.waiting((ms) => ms === 2_000);
    hub.failNext('hang', 1);
    const before = hub.stats.requests;
    one.clock.advance(2_000);
    await until(t, () => hub.stats.requests > before);
    const held = version();
    one.clock.advance(5_000);
    await one.clock.waiting((ms) => ms <= 0);
    one.clock.advance(0);
    await until(t, () => version() !== held);
    assert.equal(one.election.isLeader, true);
  });

  test('ends at once when another process holds the Lease', async (t) => {
    const { hub, lead, spec } = await startElection(t);
    const one = await lead('one');
    hub.set({ ...leaseName, spec: { ...spec(), holderIdentity: 'two' } });
    await one.clock.waiting((ms) => ms === 2_000);
    one.clock.advance(2_000);
    await one.running;
    assert.match(one.signal().reason.message, /two holds it$/);
    assert.deepEqual(one.events, ['leader one', 'started', 'leader two', 'stopped']);
    assert.equal(spec().holderIdentity, 'two');
  });

  test('outlives a hub that is away for less than the deadline, and says so once', async (t) => {
    const { hub, lead, version } = await startElection(t);
    const one = await lead('one');
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
    const said =
      /^the Lease cannot be acquired or renewed at the moment: .*PUT \/apis\/.*\/reports was answered with 503/;
    assert.match(one.warnings.join(), said);
  });

  test('says that its namespace is missing, and which rights it lacks', async (t) => {
    const { hub, contend } = await startElection(t);
    const saidBy = async (namespace: string) => {
      const one = contend('one', { namespace });
      one.run();
      await until(t, () => one.warnings.length > 0);
      return one.warnings.join();
    };
    assert.match(await saidBy('none'), /POST .* was answered with 404: namespaces "none" not found/);
    hub.failNext(403, 1);
    const rights = /: allow the verbs get, create and update on leases\.coordination\.k8s\.io in namespace other$/;
    assert.match(await saidBy('other'), rights);
  });

  test('writes a deleted Lease again, before another contender takes it', async (t) => {
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

  test('does not take a deleted Lease back from a leader that has followed it: it waits for the whole duration', async (t) => {
    const { hub, lead, spec, retry } = await startElection(t);
    const one = await lead('one', { retryPeriodMs: 1_000 });
    // It is stopped while another one leads, whose Lease is deleted.
    hub.set({ ...leaseName, spec: { ...spec(), holderIdentity: 'two' } });
    hub.delete(leaseName);
    one.clock.advance(16_000);
    await one.running;
    assert.deepEqual(one.events, ['leader one', 'started', 'stopped']);
    one.run();
    await until(t, () => hub.stats.requests > 0);
    for (let tries = 0; tries < 6; tries++) await retry(one);
    assert.equal(hub.get(leaseName), undefined);
    assert.equal(one.election.isLeader, false);
    await one.clock.waiting(isRetry);
    one.clock.advance(2_200);
    await until(t, () => one.election.isLeader);
  });

  test('waits for twice its own duration at most, whatever a Lease says', async (t) => {
    const { hub, contend, retry } = await startElection(t);
    hub.set({ ...leaseName, spec: { holderIdentity: 'go', leaseDurationSeconds: 2 ** 31 - 1 } });
    const two = contend('two', { retryPeriodMs: 1_000 });
    two.run();
    await until(t, () => two.events.includes('leader go'));
    for (let tries = 0; tries < 13; tries++) await retry(two);
    assert.ok(!two.events.includes('started'));
    await two.clock.waiting(isRetry);
    two.clock.advance(2_200);
    await until(t, () => two.events.includes('started'));
  });
});

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { reflect } from '../../src/fleet/index.ts';
import { startElection } from '../fixtures/election.ts';
import { isEngaged, kubeConfigFor, startHub } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { engagedIn, startReplicas } from '../fixtures/replicas.ts';
import { until } from '../fixtures/until.ts';

/** A KubeConfig that gets no credential while it hangs, as where its plugin waits for a name server. */
function hangingConfig(t: TestContext, config: KubeConfig) {
  const state = { hangs: false, calls: 0 };
  const late: ((error: Error) => void)[] = [];
  // What comes much later is of no consequence, a failure neither.
  t.after(() => late.map((reject) => reject(new Error('much too late'))));
  const real = config.applySecurityAuthentication.bind(config);
  config.applySecurityAuthentication = (context) => {
    state.calls += 1;
    return state.hangs ? new Promise((_, reject) => late.push(reject)) : real(context);
  };
  return Object.assign(state, { config });
}

async function startHanging(t: TestContext) {
  const parts = await startHub(t);
  const spoke = await parts.spoke();
  parts.publish('one', spoke);
  const clock = new ManualClock();
  const credential = hangingConfig(t, kubeConfigFor(parts.hub, 'hub'));
  const fleet = parts.run({ hub: credential.config, clock });
  await until(t, () => isEngaged(fleet, 'one'));
  return { ...parts, cluster: spoke, clock, credential, fleet };
}

const says = /applySecurityAuthentication of its KubeConfig has not ended: look at the plugin or the identity provider/;

describe('a hub whose KubeConfig hangs in getting a credential', () => {
  test('is told, and is watched again when there is a credential', async (t) => {
    const { hub, publish, cluster, clock, credential, fleet, warnings } = await startHanging(t);
    const { calls } = credential;
    credential.hangs = true;
    hub.closeConnections();
    await until(t, () => {
      if (credential.calls > calls) return true;
      clock.advance(1_000);
      return false;
    });
    credential.hangs = false;
    publish('two', cluster);
    clock.advance(60_000);
    await until(t, () => warnings.some((line) => says.test(line)));
    await until(t, () => {
      if (isEngaged(fleet, 'two')) return true;
      clock.advance(1_000);
      return false;
    });
  });

  test('delays the end of nothing: reflect and a fleet end when they are told to', async (t) => {
    const { hub, credential, fleet } = await startHanging(t);
    credential.hangs = true;
    const stop = new AbortController();
    const { calls } = credential;
    const reflected = (async () => {
      for await (const event of reflect(credential.config, {
        apiVersion: 'v1',
        kind: 'Namespace',
        signal: stop.signal,
      }))
        assert.fail(`an event of type ${event.type}`);
    })();
    await until(t, () => credential.calls > calls);
    stop.abort();
    await reflected;
    hub.closeConnections();
    await fleet.close();
  });

  test('costs a leader its Lease, which says why, and the election ends', async (t) => {
    const { hub, contend } = await startElection(t);
    const credential = hangingConfig(t, kubeConfigFor(hub, 'hub'));
    const one = contend('one', { hub: credential.config });
    const running = one.run(one.work.promise);
    await until(t, () => one.events.includes('started'));
    credential.hangs = true;
    await until(t, () => {
      if (one.events.includes('stopped')) return true;
      one.clock.advance(500);
      return false;
    });
    assert.match(one.warnings.join('\n'), says);
    one.work.resolve();
    let ended = false;
    running.then(() => (ended = true));
    await until(t, () => {
      one.clock.advance(500);
      return ended;
    });
  });

  test('costs a replica its shards, and it has them again afterwards, and ends', async (t) => {
    const { hub, start, warnings } = await startReplicas(t, 1);
    const credential = hangingConfig(t, kubeConfigFor(hub, 'hub'));
    const { fleet, run, passUntil } = start('one', { shards: 2 }, { hub: credential.config });
    run();
    await passUntil(() => engagedIn(fleet).length === 1);
    credential.hangs = true;
    await passUntil(() => engagedIn(fleet).length === 0);
    assert.match(warnings.join('\n'), says);
    credential.hangs = false;
    await passUntil(() => engagedIn(fleet).length === 1);
    credential.hangs = true;
    let ended = false;
    fleet.close().then(() => (ended = true));
    await passUntil(() => ended);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionError } from '../../../src/index.ts';
import { isLost, markConnecting, toOwnError } from '../../../src/rest/transport/connection-errors.ts';

const server = 'https://spoke-1.example.dev';
const cluster = { name: 'spoke-1', server, profile: 'fleet/spoke-1', hasAuthority: true };

test('a function that the runtime lacks is no problem of a certificate', () => {
  // As Bun 1.3 throws it.
  const error = new Error('tls.checkServerIdentity is not yet implemented in Bun.');
  markConnecting(error);
  const own = toOwnError(error, cluster);
  assert.ok(own instanceof ConnectionError);
  assert.equal(own.code, 'CONNECT_FAILED');
  assert.match(own.message, /this runtime lacks what a connection needs .*: use Node; Bun is not supported/);
});

test('a peer that has died is no server that does not answer a dial', () => {
  for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'ECONNRESET']) {
    const lost = Object.assign(new Error(`read ${code}`), { code });
    assert.ok(isLost(lost));
    assert.match(String(toOwnError(lost, cluster)), /\[CONNECTION_LOST\].*the connection was lost/);
  }
  const dialed = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
  markConnecting(dialed);
  assert.ok(!isLost(dialed));
  assert.match(String(toOwnError(dialed, cluster)), /\[CONNECT_TIMEOUT\]/);
});

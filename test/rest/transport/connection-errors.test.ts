import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionError } from '../../../src/index.ts';
import { markConnecting, toOwnError } from '../../../src/rest/transport/connection-errors.ts';

const cluster = {
  name: 'spoke-1',
  server: 'https://spoke-1.example.dev',
  profile: 'fleet/spoke-1',
  hasAuthority: true,
};

test('a function that the runtime lacks is no problem of a certificate', () => {
  // As Bun 1.3 throws it.
  const error = new Error('tls.checkServerIdentity is not yet implemented in Bun.');
  markConnecting(error);
  const own = toOwnError(error, cluster);
  assert.ok(own instanceof ConnectionError);
  assert.equal(own.code, 'CONNECT_FAILED');
  assert.match(own.message, /this runtime lacks what a connection needs .*: use Node; Bun is not supported/);
});

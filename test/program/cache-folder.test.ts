import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cacheFolder } from '../../src/program/cache.ts';

test('a user without a home, such as any number in a container, is told to name a folder', (t) => {
  const { XDG_CACHE_HOME } = process.env;
  t.after(() => {
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  });
  const none = () => {
    throw new Error('uv_os_homedir returned ENOENT');
  };
  process.env.XDG_CACHE_HOME = '';
  assert.throws(() => cacheFolder(none), { name: 'Failure', exitCode: 3, hint: /XDG_CACHE_HOME/ });
  process.env.XDG_CACHE_HOME = '/named';
  assert.equal(cacheFolder(none), '/named/clusterprofile');
});

// What must not compile against the declarations that are shipped. `npm run check` reads the @ts-expect-error lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RestConfig } from 'clusterprofile-credentials';

test('a RestConfig is not made with new', () => {
  // @ts-expect-error the constructor is private
  assert.throws(() => new RestConfig());
});

test('a kubeconfig takes no option that is for provider files, or for what configs share', () => {
  const source = { text: '' }; // which holds no context
  // @ts-expect-error no provider file is watched
  assert.throws(() => RestConfig.fromKubeConfig(source, { watchProviderFile: true }));
  // @ts-expect-error nothing is left when it is closed
  assert.throws(() => RestConfig.fromKubeConfig(source, { idleTimeoutMs: 1 }));
});

test('fetch has the types that everybody has', async () => {
  const init: RequestInit = { method: 'GET' };
  const use = (config: RestConfig): Promise<Response> => config.fetch(new Request('https://a.example.dev'), init);
  assert.equal(typeof use, 'function');
});

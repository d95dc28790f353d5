// What must not compile against the declarations that are shipped. `npm run check` reads the @ts-expect-error lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError, RestConfig } from 'clusterprofile-credentials';

test('a RestConfig is not made with new, and the error says how it is made', () => {
  assert.throws(
    // @ts-expect-error the constructor is private
    () => new RestConfig(),
    (error) =>
      error instanceof ConfigurationError && /providers\.getConfig, RestConfig\.fromKubeConfig/.test(error.message),
  );
});

test('a kubeconfig takes no option that is for provider files, or for what configs share', () => {
  const source = { text: '' };
  const refused = { code: 'OPTION_INVALID' };
  // @ts-expect-error no provider file is watched
  assert.throws(() => RestConfig.fromKubeConfig(source, { watchProviderFile: true }), refused);
  // @ts-expect-error nothing is left when it is closed
  assert.throws(() => RestConfig.fromKubeConfig(source, { idleTimeoutMs: 1 }), refused);
});

test('fetch has the types that everybody has', async () => {
  const init: RequestInit = { method: 'GET' };
  const use = (config: RestConfig): Promise<Response> => config.fetch(new Request('https://a.example.dev'), init);
  assert.equal(typeof use, 'function');
});

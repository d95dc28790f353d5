import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { root } from '../../fixtures/docs.ts';
import { listen } from '../../fixtures/listen.ts';
import { temporaryFolder } from '../../fixtures/script.ts';

test('a proxy that accepts the connection and never answers ends a plugin of a cloud after its time, with the reason', async (t) => {
  const folder = await temporaryFolder(t);
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'a.b.c');
  const proxy = createServer();
  const { port } = await listen(t, proxy);
  const { exitCode, stderr } = await execa(
    process.execPath,
    [join(root, 'dist/plugins/oidc-credentials.js'), '--azure'],
    {
      env: {
        KUBERNETES_EXEC_INFO: JSON.stringify({
          apiVersion: 'client.authentication.k8s.io/v1',
          kind: 'ExecCredential',
          spec: { interactive: false },
        }),
        HTTPS_PROXY: `http://127.0.0.1:${port}`,
        AZURE_CLIENT_ID: 'controller',
        AZURE_TENANT_ID: 'tenant',
        AZURE_AUTHORITY_HOST: 'https://login.example.dev/',
        AZURE_FEDERATED_TOKEN_FILE: tokenFile,
      },
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
    },
  );
  assert.deepEqual([exitCode, stderr], [1, 'login.example.dev has not answered within 10 s']);
});

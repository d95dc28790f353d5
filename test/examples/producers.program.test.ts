import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from '../fixtures/script.ts';

const program = fileURLToPath(new URL('../../examples/producers/suite.ts', import.meta.url));

describe('examples/producers/suite.ts', () => {
  test("runs a producer's own folder, and says what is other than expected", async (t) => {
    const folder = join(await temporaryFolder(t), 'mine');
    await mkdir(folder);
    const profile = {
      metadata: { namespace: 'fleet', name: 'spoke' },
      status: { accessProviders: [{ name: 'mine', cluster: { server: 'https://spoke.example.dev' } }] },
    };
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: '/plugin' };
    const expected = { provider: 'mine', server: 'https://other.example.dev', hasAuthority: false, args: [] };
    const write = (name: string, content: object) => writeFile(join(folder, name), `${JSON.stringify(content)}\n`);
    await write('profiles.yaml', profile);
    await write('providers.yaml', { providers: [{ name: 'mine', execConfig }] });
    await write('expected.yaml', { providerFile: 'providers.yaml', profiles: { 'fleet/spoke': expected } });
    const { stdout, exitCode } = await execa(process.execPath, [program, folder], { reject: false });
    assert.equal(exitCode, 1);
    assert.match(
      stdout,
      /^not ok {2}mine: fleet\/spoke\n.*https:\/\/spoke\.example\.dev.*https:\/\/other\.example\.dev/s,
    );
  });
});

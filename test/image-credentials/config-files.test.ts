// The files of a configuration and the executables that it names: A and B of the kubelet's behaviour.
import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { ConfigurationError, ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { configOf, providerOfA } from '../fixtures/image-plugins.ts';
import { temporaryFolder } from '../fixtures/script.ts';

describe('files and executables', () => {
  async function setUp(t: TestContext) {
    const folder = await temporaryFolder(t);
    const binDir = join(folder, 'bin');
    await mkdir(binDir);
    for (const name of ['p', 'q', 'r']) await writeFile(join(binDir, name), '#!/bin/sh\n', { mode: 0o755 });
    const load = (path: string) => ImageCredentialProviders.fromConfigFile(path, { binDir });
    return { folder, binDir, load };
  }
  const file = (name: string) => JSON.stringify(configOf({ ...providerOfA, name, matchImages: [`${name}.io`] }));

  test('A.4: a folder is read in the order of its names, .json, .yaml and .yml only, hidden ones too', async (t) => {
    const { folder, load } = await setUp(t);
    const configs = join(folder, 'configs');
    await mkdir(join(configs, 'x.yaml'), { recursive: true });
    await writeFile(join(configs, 'b.json'), file('p'));
    await writeFile(join(configs, '.a.yml'), file('q'));
    await writeFile(join(folder, 'linked'), file('r'));
    await symlink(join(folder, 'linked'), join(configs, 'c.yaml'));
    for (const other of ['d.YAML', 'e.yaml.bak', 'f']) await writeFile(join(configs, other), 'not read');
    await execa('mkfifo', [join(configs, 'f.json')]);
    assert.deepEqual(load(configs).patterns, ['q.io', 'p.io', 'r.io']);
    await writeFile(join(configs, 'g.json'), file('p'));
    const twice = /g\.json: line 1: providers\[0\]\.name: "p" is the name of another provider too/;
    assert.throws(() => load(configs), twice);
  });

  test('A.2, A.3: a folder or file that is not there is named', async (t) => {
    const { folder, binDir, load } = await setUp(t);
    await mkdir(join(folder, 'empty'));
    const missing = { code: 'IMAGE_CONFIG_INVALID', message: /none: does not exist/ };
    assert.throws(() => load(join(folder, 'none')), missing);
    assert.throws(() => load(join(folder, 'empty')), /holds no \.json, \.yaml or \.yml file/);
    const wrong = () => ImageCredentialProviders.fromConfigFile('x', { binDir: join(binDir, 'none') });
    assert.throws(wrong, /folder of plugins .*none: does not exist/);
  });

  test('B.21: an executable that is missing, a folder, or not executable is named', async (t) => {
    const { folder, binDir, load } = await setUp(t);
    await chmod(join(binDir, 'q'), 0o644);
    await mkdir(join(binDir, 'd'));
    const path = join(folder, 'config.json');
    const named = ['missing', 'q', 'd', 'p'].map((name) => ({ ...providerOfA, name }));
    await writeFile(path, JSON.stringify(configOf(...named)));
    assert.throws(
      () => load(path),
      (error: unknown) => {
        assert.ok(error instanceof ConfigurationError);
        assert.match(error.message, /3 problems:.*missing does not exist.*q is not executable.*d is a folder/s);
        return true;
      },
    );
  });

  test("fromFlags takes the kubelet's own flags, both of them", async (t) => {
    const { folder, binDir } = await setUp(t);
    const path = join(folder, 'config.json');
    await writeFile(path, file('p'));
    const values = { 'image-credential-provider-config': path, 'image-credential-provider-bin-dir': binDir };
    assert.deepEqual(ImageCredentialProviders.fromFlags(values).patterns, ['p.io']);
    const alone = () => ImageCredentialProviders.fromFlags({ 'image-credential-provider-config': path });
    assert.throws(alone, /--image-credential-provider-bin-dir: is missing: the two flags go together/);
  });

  /** Root may read everything, so these tests are somebody else for the time of a call. */
  function asNobody(load: () => unknown): void {
    const root = process.geteuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      load();
    } finally {
      if (root) process.seteuid?.(0);
    }
  }

  test('what the file system says is said in our words, with the path', async (t) => {
    const { folder, load } = await setUp(t);
    const path = (...parts: string[]) => join(folder, ...parts);
    await chmod(folder, 0o755);
    await writeFile(path('good.json'), file('p'));
    await writeFile(path('secret.json'), file('p'), { mode: 0o000 });
    await mkdir(path('closed'), { mode: 0o000 });
    await symlink(path('loop.json'), path('loop.json'));
    await mkdir(path('configs'), { mode: 0o755 });
    await symlink(path('gone'), path('configs', 'd.yml'));
    const from = (binDir: string) => () => ImageCredentialProviders.fromConfigFile(path('good.json'), { binDir });
    for (const [call, expected] of [
      [() => load(path('secret.json')), /config .*secret\.json.*: .*may not be read by the user of this process/],
      [() => load(path('closed')), /folder .*closed: may not be read/],
      [() => load(path('configs')), /config .*d\.yml: does not exist, or is a dangling symbolic link/],
      [() => load(path('loop.json')), /config .*loop\.json: cannot be read \(ELOOP\)/],
      [from(path('closed', 'bin')), /folder of plugins .*bin: may not be read/],
      [from(path('loop.json')), /folder of plugins .*cannot be read \(ELOOP\)/],
      [from(path('good.json')), /folder of plugins .*good\.json: is no folder/],
      [from(''), /binDir: must be the path of the folder of plugins/],
    ] as const) {
      asNobody(() => assert.throws(call, { name: 'ConfigurationError', message: expected }));
    }
  });
});

import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { dangerousEnvVars } from '../../src/access/extensions.ts';
import { flagOptions } from '../../src/access/flags.ts';
import { parseProviderFile } from '../../src/access/provider-schema.ts';
import { decodeExecCredential } from '../../src/exec/exec-credential.ts';
import { CredentialProviders } from '../../src/index.ts';
import { parseOptions } from '../../src/options/options.ts';
import { loadExecCredential } from '../../src/plugin/index.ts';
import { secretreader } from '../../src/plugins/read-secret.ts';
import { verbs } from '../../src/program/verbs.ts';
import { blocks, pages, prose, read, root } from '../fixtures/docs.ts';

const docs = pages.filter((page) => page.startsWith('docs/'));

describe('the docs', () => {
  test('have YAML and JSON that can be read', () => {
    for (const page of pages) {
      for (const text of blocks(page, 'yaml'))
        assert.deepEqual(
          parseAllDocuments(text).flatMap(({ errors }) => errors),
          [],
          page,
        );
      for (const text of blocks(page, 'json')) assert.doesNotThrow(() => JSON.parse(text), page);
    }
  });

  const operating = read('docs/operating.md');
  const [providerFile = '', deployment = '', imageVolume = ''] = blocks('docs/operating.md', 'yaml');

  test('show a provider file that is valid', () => {
    assert.equal(parseProviderFile(providerFile, 'docs/operating.md')[0]?.name, 'google');
  });

  test('show the input of a plugin as a plugin reads it, and an answer that is taken', () => {
    const [input = '', answer = ''] = blocks('docs/plugins.md', 'json');
    assert.equal(loadExecCredential(input).credential.spec.cluster?.server, 'https://eu-west-1.fleet.example.dev');
    const { expiresAt } = decodeExecCredential(answer, ['client.authentication.k8s.io/v1']);
    assert.equal(expiresAt, Date.parse('2026-11-23T10:15:00Z'));
  });

  test('show a provider and a profile for secretreader that fit each other', () => {
    const [provider = '', profile = ''] = blocks('docs/plugins.md', 'yaml');
    const providers = new CredentialProviders(parse(provider).providers);
    const { exec, ignored } = providers.resolve({
      metadata: { name: 'eu-west-1', namespace: 'fleet' },
      ...parse(profile),
    });
    assert.deepEqual([exec.config, ignored], [{ clusterName: 'eu-west-1' }, []]);
    assert.doesNotThrow(() => secretreader(exec.args));
  });

  test('show Deployments whose flags are valid, and whose plugin is where its image has it', () => {
    for (const manifest of [deployment, imageVolume]) {
      const { containers, volumes } = parse(manifest).spec.template.spec;
      const { args, volumeMounts }: { args: string[]; volumeMounts?: { mountPath: string }[] } = containers[0];
      const flags = args.filter((argument) => !argument.includes('provider-file'));
      const provider = `google=${/=(\/.*)/.exec(args.at(-1) ?? '')?.[1]}`;
      const servers = 'google=allowedServers=[https://spoke-1.example.dev]';
      const given = ['--clusterprofile-access-provider', provider, '--clusterprofile-access-provider-option', servers];
      assert.deepEqual(CredentialProviders.fromArgs([...flags, ...given]).accessTypes, ['google']);
      if (!volumes) continue;
      const [image = '', program = ''] =
        /^\| `(\S+kubeconfig-secretreader:\S+)` \| `(\S+)` \|$/m.exec(operating)?.slice(1) ?? [];
      assert.equal(volumes[0].image.reference, image);
      assert.ok(provider.endsWith(`=${volumeMounts?.[0]?.mountPath}${program}`));
    }
  });

  test('name every flag, and no other', () => {
    for (const flag of Object.keys(flagOptions)) assert.ok(operating.includes(`| \`--${flag}\``), flag);
    for (const page of pages) {
      for (const [, flag = ''] of read(page).matchAll(/--(clusterprofile-[a-z-]*[a-z])\b(?!-?\*)/g)) {
        assert.ok(flag in flagOptions, `${page}: --${flag}`);
      }
    }
  });

  test('have a section for each alert, and for no other', () => {
    const alerts = [...read('examples/observability/alerts.yaml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const sections = [...read('docs/alerts.md').matchAll(/^## (ClusterProfile\w+)$/gm)].map(([, name]) => name);
    assert.ok(alerts.length > 5);
    assert.deepEqual(sections, alerts);
  });

  test('name every option but those for tests', () => {
    const controllers = read('docs/controllers.md');
    const { clock, drainTimeoutMs, ...options } = parseOptions({});
    assert.deepEqual([clock, drainTimeoutMs], [Date.now, 3_600_000]);
    for (const option of Object.keys(options)) assert.ok(controllers.includes(`| \`${option}\` |`), option);
  });

  test('of fleets show the examples as they are, and name every option', () => {
    const snippets = blocks('docs/fleet.md', 'ts').map((code) => code.trim());
    const examples = globSync('examples/fleet/*.ts', { cwd: root });
    assert.equal(examples.length, 3);
    for (const path of examples) {
      const code = read(path);
      assert.ok(code.split('\n').length <= 65, `${path} is no short example any more`);
      assert.ok(snippets.includes(code.replace(/^(?:\/\/.*\n)+/, '').trim()), `docs/fleet.md shows another ${path}`);
    }
    const reference = read('docs/fleet-reference.md');
    for (const [path, ...names] of [
      ['options.ts', 'FleetOptions'],
      ['sharding/options.ts', 'FleetShardingOptions'],
      ['leader-election-options.ts', 'LeaderElectionOptions', 'LeaderElectionRun'],
      ['informer/options.ts', 'InformerOptions'],
      ['reflect/reflector.ts', 'ReflectedResource'],
      ['controller/options.ts', 'CommonOptions', 'ControllerOptions', 'ControllerSource'],
      ['controller/options.ts', 'HubReconcileContext', 'ReconcileContext'],
    ] as const) {
      for (const name of names) {
        const [, body = ''] =
          new RegExp(`interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(read(`src/fleet/${path}`)) ?? [];
        const visible = body.replaceAll(/\/\*\* @internal.*\n.*\n?/g, '');
        const members = [...visible.matchAll(/^ {2}(?:readonly )?(\w+)[?<(:]/gm)].map(([, member = '']) => member);
        assert.ok(members.length > 0, name);
        for (const member of members)
          assert.match(reference, new RegExp(`^\\|[^|]*\`${member}\\b`, 'm'), `${name}: ${member}`);
      }
    }
  });

  test('name every function and class that an entry point exports', async () => {
    const all = docs.map(read).join('\n');
    for (const entry of ['', 'fleet/', 'image-credentials/', 'image-plugin/', 'plugin/', 'testing/']) {
      const names = Object.keys(await import(join(root, `src/${entry}index.ts`)));
      assert.ok(names.length > 0, entry);
      for (const name of names) assert.match(all, new RegExp(`\\b${name}\\b`), name);
    }
  });

  test('list every variable that a profile may not set', () => {
    const security = read('docs/security.md');
    for (const { does, names } of dangerousEnvVars) {
      assert.ok(security.includes(`| ${does} | ${names.map((name) => `\`${name}\``).join(', ')} |`), does);
    }
  });

  test('name commands that exist: npm run, and the verbs of clusterprofile', () => {
    const { scripts } = JSON.parse(read('package.json'));
    const known = verbs.map(({ name }) => name);
    let commands = 0;
    for (const page of pages.filter((name) => name !== 'CHANGELOG.md')) {
      for (const [, script = ''] of read(page).matchAll(/npm run ([\w:]+)/g)) {
        commands += 1;
        assert.ok(script in scripts, `${page}: npm run ${script}`);
      }
      for (const [, verb = ''] of read(page).matchAll(/(?:^|`|\$ )(?:kubectl )?clusterprofile ([a-z][a-z-]+)/gm)) {
        commands += 1;
        assert.ok([...known, 'help', 'completion'].includes(verb), `${page}: clusterprofile ${verb}`);
      }
    }
    assert.ok(commands > 20);
  });

  test('name files, and parts of npm run test:e2e, that are there', () => {
    const parts = read('test/e2e/run.ts');
    const [, table = ''] = /^const parts\b[^{]*\{\n([^}]*)\}/m.exec(parts) ?? [];
    const names = [...table.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
    assert.ok(names.length > 5);
    for (const name of names)
      assert.ok(read('CONTRIBUTING.md').includes(`| \`${name}\` |`), `CONTRIBUTING.md: ${name}`);
    for (const page of pages.filter((name) => name !== 'CHANGELOG.md')) {
      for (const [, path = ''] of read(page).matchAll(/`((?:src|test|examples|crds)\/[\w./-]*)`/g)) {
        assert.ok(statSync(join(root, path), { throwIfNoEntry: false }), `${page}: there is no ${path}`);
      }
      for (const [, part = ''] of read(page).matchAll(/npm run test:e2e -- --only ([\w-]+)/g)) {
        assert.ok(names.includes(part), `${page}: test:e2e has no part ${part}`);
      }
    }
  });

  test('name only codes, reasons and variables that the code has', () => {
    const sources = globSync(['src/**/*.ts', 'examples/**/*.{ts,yaml,sh}', 'test/**/*.ts'], { cwd: root });
    const text = sources.map(read).join('\n');
    for (const page of docs) {
      for (const [, word = ''] of prose(page).matchAll(/`(?:[A-Z]+\/)?([A-Z]+(?:_[A-Z\d]+)+)`/g)) {
        assert.match(text, new RegExp(`\\b${word}\\b`), `${page}: ${word}`);
      }
    }
  });
});

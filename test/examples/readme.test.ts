import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { execa } from 'execa';
import { parse } from 'yaml';
import { dangerousEnvVars } from '../../src/access/env-rules.ts';
import { flagOptions } from '../../src/access/flags.ts';
import { parseProviderFile } from '../../src/access/provider-file.ts';
import { ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { CredentialProviders, RestConfig } from '../../src/index.ts';
import { parseOptions } from '../../src/options.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

function blocks(language: string): readonly string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    (match) => match[1] ?? '',
  );
}

// Inside the package, so that it can import itself by name; it has been built before the tests.
mkdirSync(join(root, 'node_modules/.cache'), { recursive: true });
const folder = mkdtempSync(join(root, 'dist/readme-'));
after(() => rmSync(folder, { recursive: true }));

describe('the README', () => {
  const snippets = blocks('ts');

  test('has TypeScript snippets that compile', async () => {
    for (const [index, code] of snippets.entries()) writeFileSync(join(folder, `snippet-${index}.ts`), code);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }));
    const { stdout, exitCode } = await execa('tsc', ['-p', folder], {
      preferLocal: true,
      localDir: root,
      reject: false,
    });
    assert.equal(exitCode, 0, stdout);
    assert.equal(snippets.length, 8);
  });

  test('has a first snippet that works as it stands', async () => {
    const file = join(folder, 'first.ts');
    writeFileSync(file, snippets[0] ?? '');
    const { stdout } = await execa(process.execPath, [file]);
    assert.equal(stdout, "[ 'default', 'kube-system' ]");
  });

  const [providerFile = '', deployment = ''] = blocks('yaml');

  test('shows a provider file that is valid', () => {
    assert.equal(parseProviderFile(providerFile, 'README.md')[0]?.name, 'google');
  });

  test('shows a Deployment whose flags are valid', () => {
    const [container] = parse(deployment).spec.template.spec.containers;
    const args: string[] = container.args.filter((argument: string) => !argument.includes('provider-file'));
    assert.deepEqual(CredentialProviders.fromArgs(args).accessTypes, ['google']);
  });

  test('names every flag and every option', () => {
    for (const flag of Object.keys(flagOptions)) assert.ok(readme.includes(`\`--${flag}\``), flag);
    for (const option of Object.keys(parseOptions({}))) assert.ok(readme.includes(`| \`${option}\` |`), option);
  });

  test('names every public member of the classes', () => {
    for (const type of [CredentialProviders, RestConfig, ImageCredentialProviders]) {
      const members = Object.getOwnPropertyNames(type.prototype);
      // What only overrides a method of client-node's is its business.
      const ours = members.filter((name) => name !== 'constructor' && !(name in KubeConfig.prototype));
      assert.ok(ours.length > 3);
      for (const name of [...ours, 'exportConfig']) assert.match(readme, new RegExp(`\\b${name}\\b`), name);
    }
  });

  test('lists every variable that a profile may not set', () => {
    for (const { does, names } of dangerousEnvVars) {
      assert.ok(readme.includes(`| ${does} | ${names.map((name) => `\`${name}\``).join(', ')} |`), does);
    }
  });

  test('names every error code', () => {
    const codes = readFileSync(join(root, 'src/errors/codes.ts'), 'utf8').match(/(?<=\| |= )'[A-Z_]+'/g) ?? [];
    assert.ok(codes.length > 30);
    for (const code of codes) assert.ok(readme.includes(`\`${code.slice(1, -1)}\``), code);
  });
});

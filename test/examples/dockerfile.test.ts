// examples/deploy/Dockerfile beside the Deployments that run it. npm run test:release -- deployment has hadolint look at it, too.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { producerPrograms } from '../e2e/producers/programs.ts';
import { read, root } from '../fixtures/docs.ts';

const lines = read('examples/deploy/Dockerfile')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
const firstOfStages = lines.flatMap((line, index) => (line.startsWith('FROM ') ? [index] : []));
const final = lines.slice(firstOfStages.at(-1));
const { spec: pod } = parse(read('examples/deploy/base/deployment.yaml')).spec.template;
const copied = final.flatMap((line) => /^COPY --from=\w+ \S+ (\S+)$/.exec(line)?.[1] ?? []);

test('the image runs as the user of the Deployment, by number, and never as root', () => {
  assert.deepEqual(
    final.filter((line) => line.startsWith('USER ')),
    [`USER ${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}`],
  );
  assert.equal(pod.securityContext.runAsNonRoot, true);
});

test('the image starts without a shell, with what has been copied into it, and with a first process that waits for orphans', () => {
  const command: readonly string[] = JSON.parse(
    final.find((line) => line.startsWith('ENTRYPOINT '))?.slice(11) ?? '[]',
  );
  const files = command.filter((part) => part.startsWith('/'));
  assert.equal(files.length, 3);
  for (const file of files)
    assert.ok(
      copied.some((path) => file === path || file.startsWith(`${path}/`)),
      file,
    );
  assert.match(command[0] ?? '', /tini$/);
});

/** The lines of a stage, and of the stage that it begins with. */
function stage(name: string): readonly string[] {
  const at = lines.findIndex((line) => line.startsWith('FROM ') && line.endsWith(` AS ${name}`));
  assert.notEqual(at, -1, `there is no stage ${name}`);
  const end = firstOfStages.find((index) => index > at);
  const base = /^FROM (plugins-\S+) AS/.exec(lines[at] ?? '')?.[1];
  return [...(base === undefined ? [] : stage(base)), ...lines.slice(at, end)];
}
const platforms = readdirSync(join(root, 'examples/deploy'), { withFileTypes: true })
  // `publish` runs the image of program.Dockerfile.
  .filter((entry) => entry.isDirectory() && !['base', 'publish', 'spoke'].includes(entry.name))
  .map(({ name }) => name);

for (const platform of platforms) {
  test(`the image for ${platform} has every program that its provider file names`, () => {
    const text = stage(`plugins-${platform}`).join('\n');
    const built = [...text.matchAll(/GOBIN=\/plugins\s+go install -trimpath (\S+)@/g)].map(([, source = '']) =>
      basename(source),
    );
    const copied = [...text.matchAll(/(?:cp|COPY --from=\S+) (\S+) \/plugins\//g)].map(([, source = '']) =>
      basename(source),
    );
    const [{ execConfig }] = parse(read(`examples/deploy/${platform}/providers.yaml`)).providers;
    const { command, env = [] }: { command: string; env?: { value: string }[] } = execConfig;
    const programs = [command, ...env.map(({ value }) => value)].filter((value) => /^\/(?:plugins|app)\//.test(value));
    assert.ok(programs.includes(command), command);
    const inPlugins = programs.filter((path) => dirname(path) === '/plugins').map((path) => basename(path));
    // A plugin that is there is named, and nothing else is.
    assert.deepEqual([...built, ...copied], inPlugins);
    const { bin } = JSON.parse(read('package.json'));
    for (const path of programs.filter((program) => program.startsWith('/app/'))) {
      const isThere = dirname(path) === '/app/node_modules/.bin' ? basename(path) in bin : path.startsWith('/app/src/');
      assert.ok(isThere, path);
      if (path.startsWith('/app/src/'))
        assert.match(read(`examples/plugins/${basename(path)}`), /^#!\/usr\/bin\/env node\n/);
    }
  });
}

test('the image builds the versions that the e2e run runs, and has what starts plugins, without a writable copy', () => {
  for (const { name, source, version } of producerPrograms) {
    const line = lines.find((text) => text.includes(`${source}@`));
    if (line !== undefined) assert.ok(line.includes(`${source}@${version}`), name);
  }
  assert.equal(lines.filter((line) => line.includes('go install')).length, 1);
  assert.ok(copied.includes('/plugins'));
  // #!/usr/bin/env node
  assert.ok(copied.includes('/usr/bin/env'));
  assert.ok(copied.includes('/usr/local/bin/node'));
  assert.doesNotMatch(lines.join('\n'), /--chown|--chmod|chmod/);
});

test('the image has the Node that is tested, and no plugin without a version', () => {
  assert.ok(
    lines.includes(`FROM node:${JSON.parse(read('package.json')).devDependencies.node}-bookworm-slim AS controller`),
  );
  assert.doesNotMatch(lines.join('\n'), /:latest|@latest/);
});

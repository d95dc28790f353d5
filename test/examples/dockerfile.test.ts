// examples/deploy/Dockerfile beside the Deployments that run it. npm run test:release -- deployment has hadolint look at it, too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
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

test('the image has the plugins that the provider files name, what starts those of this package, and no writable copy', () => {
  const commands = ['plain', 'eks'].flatMap((name) =>
    parse(read(`examples/deploy/${name}/providers.yaml`)).providers.map(
      (provider: { execConfig: { command: string } }) => provider.execConfig.command,
    ),
  );
  assert.equal(commands.length, 2);
  for (const command of commands)
    assert.ok(
      copied.some((path) => command.startsWith(`${path}/`)),
      command,
    );
  // #!/usr/bin/env node
  assert.ok(copied.includes('/usr/bin/env'));
  assert.ok(copied.includes('/usr/local/bin/node'));
  assert.doesNotMatch(final.join('\n'), /--chown|--chmod|chmod/);
});

test('the image has the Node that is tested, and every base image and plugin has a version', () => {
  assert.ok(
    lines.includes(`FROM node:${JSON.parse(read('package.json')).devDependencies.node}-bookworm-slim AS controller`),
  );
  for (const index of firstOfStages) assert.match(lines[index] ?? '', /^FROM [\w./-]+:[\w.-]+( AS \w+)?$/);
  assert.doesNotMatch(lines.join('\n'), /:latest|@latest/);
});

// Calls our Docker credential helper and a reference one with the client library that Docker itself uses.
import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { askGo, words } from './differential.ts';

const helper = fileURLToPath(
  new URL('../../dist/image-credentials/docker-credential-clusterprofile.js', import.meta.url),
);
const version = 'credentialprovider.kubelet.k8s.io/v1';
const hub = ['hub', 'p4'] as const;
/** What both helpers know, by host. */
const logins = {
  'r.example.dev': ['r', 'p1'],
  'r.example.dev:5000': ['r5000', 'p2'],
  localhost: ['local', 'p3'],
  'docker.io': hub,
  'index.docker.io': hub,
  'registry-1.docker.io': hub,
} as const;

interface Question {
  readonly action: string;
  readonly serverURL: string;
}

const serverUrl = fc
  .tuple(
    words('||https://|https://|http://|HTTPS://|//|ftp://'),
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...Object.keys(logins), 'R.Example.DEV', 'Index.Docker.IO') },
      words('other.example.dev|evil|r.example.dev.|u@r.example.dev|bad host|docker.io.evil.com|[::1]|xn--a'),
    ),
    words('|||:443|:80|:5000|:x'),
    words('|||/|/v1/|/v2/|/v2|/team/app|/v1/access-token|?a=b|#a'),
  )
  .map((parts) => parts.join(''));
const actions: readonly Question[] = [
  ...['get', 'store', 'erase'].flatMap((action) => ['', ' \n'].map((serverURL) => ({ action, serverURL }))),
  ...['list', 'version', '--version', 'nonsense'].map((action) => ({ action, serverURL: '' })),
  { action: 'store', serverURL: 'r.example.dev' },
  { action: 'erase', serverURL: 'r.example.dev' },
];

/** What is different here, and why; `undefined` where nothing explains it. */
function ruleFor({ action, serverURL }: Question, ours: string, theirs: string): string | undefined {
  if (action === 'version' || action === '--version') return 'the version is told in words of their own';
  if (action === 'store' && serverURL.trim() === '') return 'store is refused, whatever it is to store';
  if (/docker\.io(:\d+)?\/v1\/access-token/i.test(serverURL) && serverURL.includes('://')) {
    return "here nothing for Docker's own tokens";
  }
  const odd = /[@?#]|^\/\/|\.(:|\/|$)|:x|:\d+:| /.test(serverURL.replace(/^https?:\/\//i, ''));
  if (odd && ours === '{"problem":"another error"}')
    return `what no registry is called: here an error, there ${theirs}`;
  return undefined;
}

/** How many calls came out how. */
export async function compareDockerHelper(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'docker-helper-'));
  const folder = temporary.path;
  const env = await setUp(folder);
  const generated: Question[] = fc
    .sample(serverUrl, { numRuns: count, seed })
    .map((serverURL) => ({ action: 'get', serverURL }));
  const questions = [...actions, ...generated];
  const both = questions.flatMap((question) => [
    { ...question, env, helper: join(folder, 'ours') },
    { ...question, env, helper: '' },
  ]);
  const lines = await askGo('docker', './helper', both);
  const outcomes = new Map<string, number>();
  for (const [index, question] of questions.entries()) {
    const ours = lines[2 * index] ?? '';
    const theirs = lines[2 * index + 1] ?? '';
    const rule =
      ours === theirs ? `the same: ${kindOf(question, ours)}` : ruleFor(question, ours, kindOf(question, theirs));
    assert.ok(rule, `seed ${seed}: ${JSON.stringify(question)}\nours: ${ours}\ntheirs: ${theirs}`);
    outcomes.set(rule, (outcomes.get(rule) ?? 0) + 1);
  }
  return outcomes;
}

function kindOf({ action }: Question, line: string): string {
  const { problem }: { problem?: string } = JSON.parse(line);
  return problem ?? `an answer to ${action}`;
}

/** The environment of both. */
async function setUp(folder: string): Promise<Readonly<Record<string, string>>> {
  await mkdir(join(folder, 'bin'));
  const auth = Object.fromEntries(
    Object.entries(logins).map(([host, [username, password]]) => [host, { username, password }]),
  );
  const response = { kind: 'CredentialProviderResponse', apiVersion: version, cacheKeyType: 'Registry', auth };
  const script = async (path: string, code: string) => {
    await writeFile(path, `#!/bin/sh\n${code}\n`);
    await chmod(path, 0o755);
  };
  await script(join(folder, 'bin/p'), `cat '${folder}/response'`);
  await script(join(folder, 'ours'), `exec '${process.execPath}' '${helper}' "$@"`);
  await writeFile(join(folder, 'response'), JSON.stringify(response));
  await writeFile(join(folder, 'logins'), JSON.stringify(logins));
  const matchImages = ['r.example.dev', 'r.example.dev:5000', 'localhost', 'docker.io', 'index.docker.io', 'evil'];
  const provider = { name: 'p', matchImages, defaultCacheDuration: '1m', apiVersion: version };
  const config = { kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1', providers: [provider] };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  return {
    IMAGE_CREDENTIAL_PROVIDER_CONFIG: join(folder, 'config.json'),
    IMAGE_CREDENTIAL_PROVIDER_BIN_DIR: join(folder, 'bin'),
    LOGINS: join(folder, 'logins'),
  };
}

// Compares RestConfig.fromDefault with client-go's clientcmd: which files count, how they are merged, what is sent where.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { isMap, isSeq, parseDocument } from 'yaml';
import { impersonationHeaders } from '../../src/access/impersonation.ts';
import { ConfigurationError } from '../../src/errors/index.ts';
import type { Credential } from '../../src/exec/credential.ts';
import { readDefault } from '../../src/rest/from-kubeconfig.ts';
import type { RestConfigParts } from '../../src/rest/rest-config-parts.ts';
import { askGo, tally } from './differential.ts';
import { moduleFolder } from './go-programs.ts';
import { type Machine, machines } from './kubeconfig-cases.ts';

/** What client-go connects with. */
interface Theirs {
  readonly error?: string;
  readonly namespace?: string;
  readonly host?: string;
  /** Base64 of PEM. */
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly serverName?: string;
  readonly proxy?: string;
  readonly disableCompression?: boolean;
  readonly exec?: object;
  readonly header?: Readonly<Record<string, readonly string[]>>;
  readonly certificate?: string;
}

/** In client-go the folder is a constant: a copy of it, with another one, takes its place. */
async function moveServiceAccount(source: string, temporary: string): Promise<readonly string[]> {
  const copy = join(temporary, 'client-go');
  await cp(await moduleFolder('k8s.io/client-go', source), copy, { recursive: true });
  for (const name of ['rest/config.go', 'tools/clientcmd/client_config.go']) {
    const file = join(copy, name);
    const text = await readFile(file, 'utf8');
    const moved = text.replaceAll('"/var/run/secrets/kubernetes.io/serviceaccount/', '"serviceaccount/');
    assert.notEqual(moved, text);
    // What comes from the module cache is read-only.
    await rm(file);
    await writeFile(file, moved);
  }
  const [modules, sums] = ['mod', 'sum'].map((name) => readFile(join(source, `go.${name}`), 'utf8'));
  await writeFile(join(temporary, 'go.mod'), `${await modules}\nreplace k8s.io/client-go => ${copy}\n`);
  await writeFile(join(temporary, 'go.sum'), (await sums) ?? '');
  // Without its path the copy is found in the build cache the next time.
  return [`-modfile=${join(temporary, 'go.mod')}`, '-trimpath'];
}

interface Ours {
  readonly error?: string;
  readonly parts?: RestConfigParts;
  readonly credential?: Credential | undefined;
}

/** Builds the machine in `folder`, and loads what is found there. */
async function ours({ files, env, context }: Machine, folder: string): Promise<Ours> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.chdir(folder);
  const placed = (text: string) => text.replaceAll('$DIR', folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(name), { recursive: true });
    writeFileSync(name, placed(text));
  }
  const places = {
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, placed(value)])),
    kubeconfig: () => join(folder, 'home', '.kube', 'config'),
    serviceAccount: join(folder, 'serviceaccount'),
  };
  try {
    const options = { logger: { warn: () => {} }, ...(context === '' ? {} : { context }) };
    const parts = readDefault(options, places);
    return { parts, credential: await parts.destination.source?.get() };
  } catch (error) {
    if (error instanceof ConfigurationError) return { error: `${error.code} ${error.message}` };
    throw error;
  }
}

const rules = {
  written: 'a server is told with a lower-case scheme and without its last slash',
  server: 'a server has to be an absolute URL without a query or login',
  gone: 'a context has to name a cluster that is there, and a user that is there or none',
  unnamed: 'what has no name is never used',
  noAuthority: 'a file of authorities without any is an error',
  twice: 'the same key twice is an error',
  broken: 'a client certificate of which a block of PEM is broken is an error',
  unused: 'entries that are not used, and credentials that are not sent, are not looked at',
  namespace: 'a context without a namespace means default, in a pod too',
};
/** Where we refuse what client-go takes: our message, and the rule. */
const refusals: readonly (readonly [pattern: RegExp, rule: string])[] = [
  [/server: (is not an|must not have a|holds a user)/, rules.server],
  [/context\.(user|cluster): names ".*", which is not in (users|clusters)/, rules.gone],
  [/context\.cluster: is missing/, rules.gone],
  [/certificate-authority: .* holds no certificate that can be read/, rules.noAuthority],
  [/the same key is given twice/, rules.twice],
  [/client certificate that OpenSSL refuses \(bad end line\)/, rules.broken],
];
/** Where we take what client-go refuses: its message, and the rule. */
const lenience: readonly (readonly [pattern: RegExp, rule: string])[] = [
  [/error loading config file .*: json: cannot unmarshal .* into Go struct field/, rules.unused],
  [/error loading config file .*: illegal base64 data/, rules.unused],
  [/unable to read client-(cert|key)/, rules.unused],
];

const ruleOf = (list: typeof refusals, message: string) => list.find(([pattern]) => pattern.test(message))?.[1];

/** The same machine without what has no name in its kubeconfigs; `undefined` where all of it has one. */
function withoutUnnamed(machine: Machine): Machine | undefined {
  const files = Object.entries(machine.files).map(([path, text]) => {
    if (!path.endsWith('config')) return [path, text] as const;
    const document = parseDocument(text, { version: '1.1', logLevel: 'silent' });
    if (document.errors.length > 0) return [path, text] as const;
    const entries = ['clusters', 'users', 'contexts'].flatMap((list) => {
      const items = document.getIn([list]);
      return isSeq(items) ? [items] : [];
    });
    const named = entries.map(({ items }) => items.filter((item) => !isMap(item) || Boolean(item.get('name'))));
    if (entries.every(({ items }, index) => items.length === named[index]?.length)) return [path, text] as const;
    for (const [index, list] of entries.entries()) list.items = named[index] ?? [];
    return [path, JSON.stringify(document)] as const;
  });
  const isSame = files.every(([path, text]) => text === machine.files[path]);
  return isSame ? undefined : { ...machine, files: Object.fromEntries(files) };
}

/** How our result differs from theirs: nothing, or the rule behind it. Throws where no rule explains it. */
function compare(folder: string, { error, parts, credential }: Ours, theirs: Theirs): string {
  if (error !== undefined && theirs.error !== undefined) return 'both refuse';
  if (error !== undefined) return ruleOf(refusals, error) ?? assert.fail(`we refuse: ${error}`);
  assert.ok(parts);
  if (theirs.error !== undefined)
    return ruleOf(lenience, theirs.error) ?? assert.fail(`client-go refuses: ${theirs.error}`);
  const { access, destination, namespace = 'default' } = parts;
  const { cluster } = access;
  const exec = destination.call?.exec;
  const { authorization, keyPair } = credential ?? {};
  const sent = {
    ...(authorization === undefined ? {} : { authorization: [authorization] }),
    ...(destination.impersonation && impersonationHeaders(destination.impersonation)),
  };
  const utf8 = (value: string) => Buffer.from(value, 'latin1').toString();
  const mine = {
    namespace,
    host: cluster.server,
    ca: cluster.certificateAuthorityData,
    insecure: cluster.insecureSkipTlsVerify,
    serverName: cluster.tlsServerName,
    proxy: destination.proxyUrl,
    disableCompression: cluster.disableCompression,
    exec: exec && {
      apiVersion: exec.apiVersion,
      command: exec.command.replaceAll(folder, '$DIR'),
      args: exec.args,
      env: Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
      interactiveMode: exec.interactiveMode,
    },
    header: Object.fromEntries(Object.entries(sent).map(([name, values]) => [name.toLowerCase(), values.map(utf8)])),
    certificate: keyPair && new X509Certificate(keyPair.certificate).fingerprint256.replaceAll(':', '').toLowerCase(),
  };
  const hasOwn = theirs.certificate !== undefined || theirs.header?.authorization !== undefined;
  const there = {
    namespace: theirs.namespace,
    host: theirs.host,
    ca: theirs.ca,
    insecure: theirs.insecure ?? false,
    serverName: theirs.serverName,
    proxy: theirs.proxy,
    disableCompression: theirs.disableCompression ?? false,
    // Each of these keeps the plugin from being run: the exec part compares that.
    exec: hasOwn ? undefined : theirs.exec,
    header: theirs.header ?? {},
    certificate: theirs.certificate,
  };
  try {
    assert.deepEqual(mine, there);
    return 'equal';
  } catch (difference) {
    there.host = there.host?.replace(/^https/i, 'https').replace(/\/$/, '');
    if (isDeepStrictEqual(mine, there)) return rules.written;
    if (parts.namespace === undefined && access.provider === 'kubeconfig') there.namespace = mine.namespace;
    if (isDeepStrictEqual(mine, there)) return rules.namespace;
    throw difference;
  }
}

/** How many machines came out how. */
export async function compareKubeconfigs(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(machines, { numRuns: count, seed });
  // What they make of a machine as we see it: its entries without a name are never used here.
  const named = new Map(
    generated.flatMap((machine) => {
      const other = withoutUnnamed(machine);
      return other ? [[machine, other] as const] : [];
    }),
  );
  const lines = await askGo('access', './kubeconfigs', [...generated, ...named.values()], moveServiceAccount);
  const namedLines = new Map(
    [...named.keys()].map((machine, index) => [machine, lines[generated.length + index] ?? '']),
  );
  const before = process.cwd();
  const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'kubeconfigs-')));
  const folder = join(temporary, 'machine');
  try {
    return await tally<Machine, Theirs>(seed, generated, lines, async (given, theirs) => {
      const mine = await ours(given, folder);
      try {
        return compare(folder, mine, theirs);
      } catch (difference) {
        const line = namedLines.get(given);
        if (line === undefined) throw difference;
        compare(folder, mine, JSON.parse(line));
        return rules.unnamed;
      }
    });
  } finally {
    process.chdir(before);
    rmSync(temporary, { recursive: true });
  }
}

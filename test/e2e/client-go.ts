// Compares the exec authenticator with client-go's on generated kubeconfigs and plugin answers.
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { parse } from 'yaml';
import { type ImpersonationConfig, impersonationHeaders } from '../../src/access/impersonation.ts';
import { ConfigurationError } from '../../src/errors/index.ts';
import { AnswerFault, type Credential } from '../../src/exec/credential.ts';
import { decodeExecCredential, encodeExecCredential } from '../../src/exec/exec-credential.ts';
import { readKubeconfig } from '../../src/rest/from-kubeconfig.ts';
import { askGo, tally } from './differential.ts';
import { type Case, cases } from './exec-cases.ts';

/** KUBERNETES_EXEC_INFO, as far as it is looked into. */
interface ExecInfo {
  readonly spec: { readonly cluster?: { readonly server: string } };
}

/** What client-go makes of it. */
interface Theirs {
  readonly configError?: string;
  readonly error?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly runs?: readonly ExecInfo[];
  readonly header?: Readonly<Record<string, readonly string[]>>;
  readonly certificate?: string;
}

/** What we make of a case. */
interface Ours {
  readonly configError?: string;
  readonly error?: string;
  readonly exec?: {
    readonly command: string | undefined;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
  readonly info?: unknown;
  readonly credential?: Credential;
  readonly impersonation?: ImpersonationConfig | undefined;
}

async function ours({ kubeconfig: text, answer: stdout }: Case): Promise<Ours> {
  let parts: ReturnType<typeof readKubeconfig>;
  try {
    parts = readKubeconfig({ text }, { logger: { warn: () => {} } });
  } catch (error) {
    if (error instanceof ConfigurationError) return { configError: error.message };
    throw error;
  }
  const { call, source, impersonation } = parts.destination;
  assert.ok(parts.access.exec);
  const { apiVersion, command, args, env } = parts.access.exec;
  // Without https:// neither looks at the user.
  const exec = parts.access.cluster.server.startsWith('http:')
    ? { command: undefined, args: [], env: {} }
    : { command, args, env: Object.fromEntries(env.map(({ name, value }) => [name, value])) };
  try {
    if (source) return { exec, impersonation, credential: await source.get() };
    const info = JSON.parse(encodeExecCredential(apiVersion, { interactive: false, cluster: call.cluster }));
    return { exec, impersonation, info, credential: decodeExecCredential(stdout, [apiVersion]) };
  } catch (error) {
    if (error instanceof AnswerFault) return { exec, error: `${error.code}: ${error.reason}` };
    if (error instanceof ConfigurationError) return { configError: error.message };
    throw error;
  }
}

const rules = {
  server: 'a server has to be an absolute https:// URL without a query or login',
  written: 'a server is told with a lower-case scheme and without its last slash',
  integer: 'an integer beyond 2^53 has lost digits',
  twice: 'of what stands twice in an answer of JSON, the last counts',
  alpha: 'v1alpha1 is taken',
  yaml: 'the rarities of YAML are read as the library reads them',
  broken: 'a block of PEM that is broken or has headers is an error',
  spec: 'the spec that an answer repeats is not read',
  names: 'apiVersion and kind are read in these letters only',
  called: 'a certificate may have its other names in PEM, and a byte order mark before it',
};
/** Where we refuse what client-go takes: our message, and the rule. */
const refusals: readonly (readonly [pattern: RegExp, rule: string])[] = [
  [/server: (is not an|must not have a query|holds a user)/, rules.server],
  [/is an integer beyond 2\^53/, rules.integer],
  [/status\.token" of the wrong type/, rules.yaml],
  [/^ANSWER_WRONG_VERSION: answered without apiVersion/, rules.names],
];
/** Where we take what client-go refuses: its message, and the rule. */
const lenience: readonly (readonly [pattern: RegExp, rule: string])[] = [
  [/cannot unmarshal .* Go (struct field \w+\.spec|value of type .*Spec)/, rules.spec],
  [/couldn't get version\/kind; json parse error/, rules.names],
  [/exec plugin: invalid apiVersion ".*\/v1alpha1"/, rules.alpha],
  [/yaml: (found incompatible YAML document|invalid map key|line \d+: found (a tab )?character)/, rules.yaml],
  [/cannot unmarshal number into Go struct field ExecCredentialStatus\.status\.token/, rules.yaml],
];

const ruleOf = (list: typeof refusals, message: string) => list.find(([pattern]) => pattern.test(message))?.[1];

/** The rule of an answer's certificate and key that one of the two refuses; `undefined` where every block is as it should be. */
function ruleOfPem(answer: string): string | undefined {
  const { clientCertificateData: certificate, clientKeyData: key } = parse(answer).status;
  if (/^\ufeff|-----BEGIN (TRUSTED|X509) CERTIFICATE-----/.test(certificate)) return rules.called;
  const block = /^-----BEGIN ([A-Z ]+)-----$.*?^-----END \1-----$/gms;
  const isRead = (pem: string) => {
    try {
      return pem.includes('CERTIFICATE') ? new X509Certificate(pem) : createPrivateKey(pem);
    } catch {
      return false;
    }
  };
  const isBroken = (pem: string) => /-----BEGIN/.test(pem.replace(block, (one) => (isRead(one) ? '' : one)));
  return isBroken(certificate) || isBroken(key) ? rules.broken : undefined;
}

/** How our result differs from theirs: nothing, or the rule behind it. Throws where no rule explains it. */
async function compare(given: Case, theirs: Theirs): Promise<string> {
  const mine = await ours(given);
  // They merge the two.
  if (/^\{"(kind|status)":.*"\1":/s.test(given.answer)) return rules.twice;
  const [here, there] = [mine.configError ?? mine.error, theirs.configError ?? theirs.error];
  const what = (mine.configError ?? theirs.configError) === undefined ? 'answer' : 'kubeconfig';
  if (here !== undefined && there !== undefined) return `both refuse the ${what}`;
  if (here !== undefined) {
    // Without https:// they do not even read the user.
    if (!theirs.command && !theirs.header?.authorization) return rules.server;
    const rule =
      ruleOf(refusals, here) ?? (/client (certificate|key)/.test(here) ? ruleOfPem(given.answer) : undefined);
    return rule ?? assert.fail(`we refuse the ${what}: ${here}`);
  }
  if (there !== undefined) {
    const rule = ruleOf(lenience, there) ?? (/tls: /.test(there) ? ruleOfPem(given.answer) : undefined);
    return rule ?? assert.fail(`client-go refuses the ${what}: ${there}`);
  }
  const { exec, info, credential, impersonation } = mine;
  assert.ok(exec && credential);
  const { runs = [], args = [], env = {}, header = {} } = theirs;
  assert.deepEqual(exec, { command: theirs.command, args, env });
  // They ask an expired credential's plugin again for each request, and for its certificate.
  const expired = credential.expiresAt !== undefined && credential.expiresAt <= Date.now();
  assert.equal(Math.min(runs.length, 2), info === undefined ? 0 : expired ? 2 : 1);
  const { authorization, keyPair } = credential;
  const leaf = keyPair && new X509Certificate(keyPair.certificate).fingerprint256.replaceAll(':', '').toLowerCase();
  assert.equal(leaf, theirs.certificate);
  const headers = impersonation && impersonationHeaders(impersonation);
  const sent = { ...(authorization === undefined ? {} : { authorization: [authorization] }), ...headers };
  const asBytes = Object.entries(sent).map(([name, values]) => [
    name.toLowerCase(),
    values.map((value) => Buffer.from(value, 'latin1').toString()),
  ]);
  assert.deepEqual(Object.fromEntries(asBytes), header);
  let outcome = 'equal';
  for (const run of runs) {
    try {
      assert.deepEqual(info, run);
    } catch {
      outcome = rules.written;
      assert.deepEqual(
        info,
        withServer(run, (server) => server.replace(/^https/i, 'https').replace(/\/$/, '')),
      );
    }
  }
  return outcome;
}

function withServer(run: ExecInfo, change: (server: string) => string): ExecInfo {
  const { spec } = run;
  return {
    ...run,
    spec: spec.cluster ? { ...spec, cluster: { ...spec.cluster, server: change(spec.cluster.server) } } : spec,
  };
}

/** How many cases came out how. */
export async function compareClientGo(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const generated = fc.sample(cases, { numRuns: count, seed });
  return tally(seed, generated, await askGo('access', './exec', generated), compare);
}

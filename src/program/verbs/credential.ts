/** `credential NAMESPACE/NAME`: an exec plugin (KEP-541) for kubectl, helm, k9s and the like. It runs the cluster's own plugin. */
import { isAbsolute } from 'node:path';
import {
  apiVersions,
  type Credential,
  type ExecCredential,
  errnoOf,
  getCredential,
  loadExecCredentialFromEnv,
  profileName,
  resolve,
  toRfc3339,
  withoutLastSlashes,
} from '../../diagnose/index.ts';
import { entryFile, forget, keep } from '../cache.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { describe } from '../format-error.ts';
import { hubOfPlugins, openHub } from '../hub.ts';
import { readName } from '../input.ts';
import { profileOf } from '../profiles.ts';
import { requiredProvidersOf } from '../providers.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { terminal, options, program, args } = call;
  if (options.has('forget')) {
    const [given] = args;
    const asked = given === undefined ? undefined : readName(given);
    const count = forget(asked && { namespace: asked.namespace ?? options.text('namespace'), name: asked.name });
    if (given !== undefined && count === 0) {
      const how = `${program} credential --forget, without a name, takes all away`;
      throw Failure.notFound(`no credential of ${given} is kept`, how);
    }
    await terminal.say(`forgot ${count} credential${count === 1 ? '' : 's'}`);
    return exitCodes.ok;
  }
  try {
    await answer(call);
    return exitCodes.ok;
  } catch (error) {
    call.signal.throwIfAborted();
    // Clients show a plugin's stderr among their own lines.
    const { message, hint, exitCode } = describe(error);
    const line = [message, ...(hint === undefined ? [] : [hint])].join('; ').replace(/\s*\n\s*/g, '; ');
    throw new Failure(exitCode, line, undefined, { cause: error });
  }
}

async function answer(call: Call): Promise<void> {
  const { terminal, options, program, args } = call;
  if (args.length === 0) {
    throw Failure.usage('credential needs the name of a ClusterProfile', `${program} get lists those that are there`);
  }
  if (terminal.stdout.isTTY && !options.has('show')) {
    const how = `${program} credential --show shows it, and run-plugin and check show what it is worth`;
    throw Failure.usage('stdout is a terminal, and a credential would be shown on it', how);
  }
  const file = options.has('cache') ? entryFile(process.argv.slice(1)) : undefined;
  const asked = readExecInfo();
  await refuseToAskItself(call);
  const { providers, options: flagged } = await requiredProvidersOf(call);
  const found = await profileOf(call);
  const access = resolve(found, providers);
  checkServer(call, access.cluster.server, asked?.spec.cluster?.server);
  const profile = profileName(found);
  const credential = await getCredential(profile, access, providers, flagged, call.signal);
  const text = `${JSON.stringify(toAnswer(credential, asked?.apiVersion ?? apiVersions[0]))}\n`;
  await terminal.write(text);
  const { command } = access.exec;
  const { expiresAt } = credential;
  // A relative command is another one in another folder.
  if (file === undefined || expiresAt === undefined || (command.includes('/') && !isAbsolute(command))) return;
  try {
    keep(file, { profile, expiresAt, answer: text });
  } catch (error) {
    await terminal.say(`the credential of ${profile} is not kept: ${file} cannot be written (${errnoOf(error)})`);
  }
}

/** What the client asks for; `undefined` if a person runs the program. */
function readExecInfo(): ExecCredential | undefined {
  if (!process.env.KUBERNETES_EXEC_INFO) return undefined;
  const { credential } = loadExecCredentialFromEnv();
  // The client gave it to this program, not to the plugins of the cluster and of the hub.
  delete process.env.KUBERNETES_EXEC_INFO;
  return credential;
}

/** Names of the clusters whose credentials are being got, outermost first: one may be the hub of another. */
const chainVariable = 'CLUSTERPROFILE_CREDENTIAL_CHAIN';

/** The hub's kubeconfig may run this program again, which would start processes without end. */
async function refuseToAskItself(call: Call): Promise<void> {
  const [name = ''] = call.args;
  const readsFiles = call.options.texts('filename').length > 0;
  const hub = readsFiles ? await hubOfPlugins(call) : await openHub(call);
  const own = `${name} ${hub?.server ?? ''}`;
  const chain = (process.env[chainVariable] ?? '').split('\n').filter((link) => link !== '');
  if (chain.includes(own)) {
    const how = "name the hub's own context with --context, and its file with --kubeconfig";
    throw Failure.configuration(`the credential of ${name} is needed to reach the hub that has ${name}`, how);
  }
  process.env[chainVariable] = [...chain, own].join('\n');
}

/** The client sends the credential to the server of its kubeconfig: it gets none unless the profile names that server now. */
function checkServer({ args: [name = ''], program }: Call, current: string, asked: string | undefined): void {
  if (asked === undefined || normal(asked) === normal(current)) return;
  const message = `the kubeconfig says that ${name} is ${asked}, and its ClusterProfile says ${current}: no credential is given`;
  throw new Failure(exitCodes.profile, message, `write the kubeconfig again: ${program} kubeconfig ${name}`);
}

const normal = (server: string) => withoutLastSlashes(URL.parse(server)?.href ?? server);

function toAnswer({ authorization, secrets: [token], keyPair, expiresAt }: Credential, apiVersion: string): object {
  const status = {
    ...(authorization === undefined ? {} : { token }),
    ...(keyPair ? { clientCertificateData: keyPair.certificate, clientKeyData: keyPair.key } : {}),
    ...(expiresAt === undefined ? {} : { expirationTimestamp: toRfc3339(expiresAt) }),
  };
  return { kind: 'ExecCredential', apiVersion, status };
}

/** `get [NAME...]`: ClusterProfiles, and the provider that would serve each. */
import {
  type ConfiguredProvider,
  listAt,
  ProfileError,
  printable,
  profileName,
  textAt,
  tryToResolve,
  withoutProfile,
} from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { homeOf, noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { providersOf } from '../providers.ts';
import { type Column, formatTable, jsonText, print, tableOptions } from '../table.ts';
import type { Call } from '../verb.ts';

/** What is shown of one ClusterProfile; `-o json` has the same names. */
interface Row {
  readonly namespace: string;
  readonly name: string;
  readonly manager: string | undefined;
  /** Of the condition `ControlPlaneHealthy`: `True`, `False` or `Unknown`. */
  readonly healthy: string | undefined;
  readonly accessTypes: readonly string[];
  readonly provider?: string;
  readonly server?: string;
  readonly kubernetesVersion: string | undefined;
  /** With `-w`: it was deleted. */
  readonly deleted?: true;
  readonly error?: { readonly code: string; readonly message: string };
}

/** `get clusterprofiles` and `get cp NAME`, as kubectl has it. */
const kindWord = /^(?:clusterprofiles?(?:\.multicluster\.x-k8s\.io)?|cp)$/;

export async function run(given: Call): Promise<ExitCode> {
  const [word = '', ...names] = given.args;
  const call = kindWord.test(word) ? { ...given, args: names } : given;
  const { options } = call;
  if (options.has('watch') && options.texts('filename').length > 0) {
    throw Failure.usage('-w and -f contradict each other: a file is read once', 'leave one of the two out');
  }
  const { providers } = await providersOf(call);
  const profiles = await profilesOf(call);
  const rows = profiles.map((profile) => toRow(profile, providers));
  const printRows = await createPrinter(call);
  await printRows(rows);
  await sayWhatIsMissing(call, rows, providers.length === 0);
  if (!options.has('watch')) return exitCodes.ok;
  const { profileChanges } = await import('../watch.ts');
  for await (const { profile, isGone } of profileChanges(call, profiles)) {
    const row = toRow(profile, providers);
    await printRows([isGone ? { ...row, deleted: true } : row]);
  }
  return call.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

/** Prints rows in the way that `-o` says, and later ones below them. */
async function createPrinter(call: Call) {
  const { terminal, options } = call;
  const format = options.text('output');
  const home = await homeOf(call);
  // The table begins with the first row.
  let { headers } = tableOptions(call);
  let widths: readonly number[] = [];
  const tableOf = (rows: readonly Row[]) => {
    if (rows.length === 0) return '';
    const table = formatTable(terminal, columns, rows, { ...tableOptions(call), headers, widths });
    headers = false;
    widths = table.widths;
    return table.text;
  };
  return async (rows: readonly Row[]): Promise<void> => {
    if (options.has('watch') && format === 'json') {
      for (const row of rows) await terminal.write(`${jsonText(row)}\n`);
    } else if (options.has('watch') && format === 'yaml') {
      for (const row of rows) await print(call, row, () => '').then(() => terminal.write('---\n'));
    } else {
      const names = rows.map((row) => nameOf(row, home));
      await print(call, { items: rows }, () => tableOf(rows), names);
    }
  };
}

/** Of a table: that it is empty, or why its providers are not known. */
async function sayWhatIsMissing(call: Call, rows: readonly Row[], isUnknown: boolean): Promise<void> {
  const { terminal, options } = call;
  if (![undefined, 'wide'].includes(options.text('output'))) return;
  if (rows.length > 0 && isUnknown && terminal.stderr.isTTY) await terminal.say(noProviders);
  if (rows.length === 0 && !options.has('ignore-not-found')) await terminal.say(await noProfiles(call));
}

/** As kubectl prints it; with its namespace if the same call would not find it without. Each verb takes both. */
function nameOf({ namespace, name }: Row, home: string | undefined): string {
  const before = namespace === '' || namespace === home ? 'clusterprofile.multicluster.x-k8s.io' : namespace;
  return printable(`${before}/${name}`, 1_024);
}

const noProviders =
  'The provider is not known: give the flags that the controller runs with (--clusterprofile-...), or --from-pod-args.';

const columns: readonly Column<Row>[] = [
  { title: 'NAMESPACE', value: ({ namespace }) => namespace },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'MANAGER', value: ({ manager = '' }) => manager },
  {
    title: 'HEALTHY',
    value: ({ healthy = '' }) => healthy,
    style: ({ healthy }) => (healthy === 'True' ? 'green' : healthy === 'False' ? 'red' : undefined),
  },
  { title: 'ACCESS TYPES', value: ({ accessTypes }) => accessTypes.join(',') },
  {
    title: 'PROVIDER',
    value: ({ provider, error, deleted }) =>
      deleted ? 'deleted' : (provider ?? (error ? `none (${error.code})` : '?')),
    style: ({ error }) => (error ? 'red' : undefined),
  },
  { title: 'VERSION', wide: true, value: ({ kubernetesVersion = '' }) => kubernetesVersion },
  { title: 'SERVER', wide: true, value: ({ server = '' }) => server },
  { title: 'WHY NONE', wide: true, value: ({ error }) => error?.message ?? '' },
];

/** `get` shows what the profile contains, wrong values too. */
function toRow(profile: Profile, providers: readonly ConfiguredProvider[]): Row {
  const health = listAt(profile, 'status', 'conditions').find((one) => textAt(one, 'type') === 'ControlPlaneHealthy');
  const offers = ['accessProviders', 'credentialProviders'].flatMap((list) => listAt(profile, 'status', list));
  return {
    namespace: textAt(profile, 'metadata', 'namespace') ?? '',
    name: textAt(profile, 'metadata', 'name') ?? '',
    manager: textAt(profile, 'spec', 'clusterManager', 'name'),
    healthy: textAt(health, 'status'),
    accessTypes: [...new Set(offers.flatMap((entry) => textAt(entry, 'name') ?? []))],
    kubernetesVersion: textAt(profile, 'status', 'version', 'kubernetes'),
    ...served(profile, providers),
  };
}

function served(profile: Profile, providers: readonly ConfiguredProvider[]) {
  if (providers.length === 0) return {};
  const result = tryToResolve(profile, providers);
  if (!(result instanceof ProfileError)) return { provider: result.provider, server: result.cluster.server };
  return { error: { code: result.code, message: withoutProfile(result.message, profileName(profile)) } };
}

/** `get [NAME...]`: ClusterProfiles, and the provider that would serve each. */
import type { ConfiguredProvider } from '../../access/provider.ts';
import { profileName } from '../../access/resolve.ts';
import { ProfileError } from '../../errors/index.ts';
import { printableLines } from '../../util/printable.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { at, listAt, textAt } from '../fields.ts';
import { parsePath, parseTemplate, textOfValues } from '../json-path.ts';
import { jsonText, printData } from '../print.ts';
import { homeOf, noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { providersOf } from '../providers.ts';
import { type Column, formatTable } from '../table.ts';
import { tryToResolve, withoutProfile } from '../try-to-resolve.ts';
import type { Call } from '../verb.ts';

/** What is shown of one ClusterProfile; `-o json` has the same names. */
export interface Row {
  readonly namespace: string;
  readonly name: string;
  readonly manager?: string;
  /** Of the condition `ControlPlaneHealthy`: `True`, `False` or `Unknown`. */
  readonly healthy?: string;
  /** What the profile offers. */
  readonly accessTypes: readonly string[];
  /** The provider that would serve it. */
  readonly provider?: string;
  readonly server?: string;
  readonly kubernetesVersion?: string;
  /** With `-w`: it was deleted. */
  readonly deleted?: true;
  /** Why no provider would serve it. */
  readonly error?: { readonly code: string; readonly message: string };
}

export async function run(call: Call): Promise<ExitCode> {
  const { options } = call;
  if (options.has('watch') && options.texts('filename').length > 0) {
    throw new Failure(
      exitCodes.usage,
      '-w and -f contradict each other: a file is read once',
      'leave one of the two out',
    );
  }
  const output = outputOf(call);
  const { providers } = await providersOf(call);
  const toShown = (profile: Profile): Shown => ({ profile, row: toRow(profile, providers) });
  const profiles = await profilesOf(call);
  const widths = await show(call, output, sorted(call, profiles.map(toShown)), providers.length === 0);
  if (!options.has('watch')) return exitCodes.ok;
  const { watchProfiles } = await import('../watch-profiles.ts');
  const print = createPrinter(call, output, widths);
  for await (const { profile, isGone } of watchProfiles(call, profiles)) {
    const { row } = toShown(profile);
    await print({ profile, row: isGone ? { ...row, deleted: true } : row });
  }
  return call.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

/** A ClusterProfile, and its row. */
interface Shown {
  readonly profile: Profile;
  readonly row: Row;
}

/** What `-o`, `-L` and `--show-labels` ask for. `jsonpath=` and `custom-columns=` read the objects, as kubectl does. */
interface Output {
  readonly columns: readonly Column<Shown>[];
  readonly template: ((data: unknown) => string) | undefined;
}

function outputOf({ options }: Call): Output {
  const [, kind, spec = ''] = /^(jsonpath|custom-columns)=(.*)$/s.exec(options.text('output') ?? '') ?? [];
  const labels = options.texts('label-columns').flatMap((text) => text.split(','));
  const own = [
    ...columns,
    ...labels.map((label): Column<Shown> => {
      const title = label.slice(label.lastIndexOf('/') + 1).toUpperCase();
      return { title, value: ({ profile }) => textAt(profile, 'metadata', 'labels', label) ?? '' };
    }),
    ...(options.has('show-labels') ? [{ title: 'LABELS', value: ({ profile }: Shown) => labelsOf(profile) }] : []),
  ];
  return {
    columns: kind === 'custom-columns' ? spec.split(',').map(customColumn) : own,
    template: kind === 'jsonpath' ? parseTemplate(spec) : undefined,
  };
}

/** `NAME:.metadata.name` */
function customColumn(spec: string): Column<Shown> {
  const [, title, path] = /^([^:]+):(.+)$/s.exec(spec) ?? [];
  if (title === undefined || path === undefined) {
    const message = `-o custom-columns: ${spec} is not TITLE:PATH`;
    throw new Failure(
      exitCodes.usage,
      message,
      'write it as for kubectl: NAME:.metadata.name,ENV:.metadata.labels.env',
    );
  }
  const find = parsePath(path);
  return { title, value: ({ profile }) => textOfValues(find(profile), ',') || '<none>' };
}

function labelsOf(profile: Profile): string {
  return Object.entries(at(profile, 'metadata', 'labels') ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** By `--sort-by`: numbers by their size, text as people sort it, and what lacks the field first. */
function sorted({ options }: Call, shown: readonly Shown[]): readonly Shown[] {
  const path = options.text('sort-by');
  if (path === undefined) return shown;
  const find = parsePath(path);
  const keyed = shown.map((one) => ({ one, key: find(one.profile)[0] }));
  if (shown.length > 0 && keyed.every(({ key }) => key === undefined)) {
    const message = `--sort-by ${path}: no ClusterProfile has this field`;
    throw new Failure(exitCodes.usage, message, 'write it as for kubectl: .metadata.creationTimestamp');
  }
  return keyed.toSorted((a, b) => compareKeys(a.key, b.key)).map(({ one }) => one);
}

function compareKeys(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return textOfValues([a]).localeCompare(textOfValues([b]), 'en', { numeric: true });
}

/** Prints the current profiles. Returns the widths of the table's columns. */
async function show(
  call: Call,
  output: Output,
  shown: readonly Shown[],
  isUnknown: boolean,
): Promise<readonly number[]> {
  const { terminal, options, args } = call;
  if (options.has('watch') && (isData(call) || output.template)) {
    for (const one of shown) await createPrinter(call, output, [])(one);
    return [];
  }
  if (await printData(call, () => ({ items: shown.map(({ row }) => row) }))) return [];
  if (output.template) {
    const items = shown.map(({ profile }) => profile);
    const isOne = args.length === 1 && items.length === 1;
    await terminal.write(output.template(isOne ? items[0] : { apiVersion: 'v1', kind: 'List', items }));
    return [];
  }
  if (options.text('output') === 'name') {
    const home = await homeOf(call);
    await terminal.write(shown.map(({ row }) => nameLine(row, home)).join(''));
    return [];
  }
  if (shown.length === 0) {
    if (!options.has('ignore-not-found')) await terminal.say(await noProfiles(call));
    return [];
  }
  const { text, widths } = formatTable(terminal, output.columns, shown, { ...tableOptions(call), widths: [] });
  await terminal.write(text);
  if (isUnknown && output.columns.includes(providerColumn) && terminal.stderr.isTTY) await terminal.say(noProviders);
  return widths;
}

/** Prints one row after another, in the way that `-o` says. */
function createPrinter(
  call: Call,
  { columns, template }: Output,
  before: readonly number[],
): (shown: Shown) => Promise<void> {
  const { terminal, options } = call;
  let widths = before;
  // Where there was no table yet, it begins with the first row.
  let headers = before.length === 0 && tableOptions(call).headers;
  return async ({ profile, row }) => {
    const format = options.text('output');
    if (format === 'json') await terminal.write(`${jsonText(row)}\n`);
    else if (format === 'yaml') await printData(call, () => row).then(() => terminal.write('---\n'));
    else if (format === 'name') await terminal.write(nameLine(row, await homeOf(call)));
    else if (template) await terminal.write(template(profile));
    else {
      const table = formatTable(terminal, columns, [{ profile, row }], { ...tableOptions(call), headers, widths });
      headers = false;
      widths = table.widths;
      await terminal.write(table.text);
    }
  };
}

const isData = ({ options }: Call) => ['json', 'yaml'].includes(options.text('output') ?? '');

/** As kubectl prints it; with its namespace where the same call would not find it without. Each verb takes both. */
function nameLine({ namespace, name }: Row, home: string | undefined): string {
  const before = namespace === '' || namespace === home ? 'clusterprofile.multicluster.x-k8s.io' : namespace;
  return `${printableLines(`${before}/${name}`)}\n`;
}

const tableOptions = ({ options }: Call) => ({
  headers: !options.has('no-headers'),
  wide: options.text('output') === 'wide',
});

const noProviders =
  'The provider is not known: give the flags that the controller runs with (--clusterprofile-...), or --from-pod-args.';

const providerColumn: Column<Shown> = {
  title: 'PROVIDER',
  value: ({ row: { provider, error, deleted } }) =>
    deleted ? 'deleted' : (provider ?? (error ? `none (${error.code})` : '?')),
  style: ({ row: { error } }) => (error ? 'red' : undefined),
};

const columns: readonly Column<Shown>[] = [
  { title: 'NAMESPACE', value: ({ row }) => row.namespace },
  { title: 'NAME', value: ({ row }) => row.name },
  { title: 'MANAGER', value: ({ row }) => row.manager ?? '' },
  {
    title: 'HEALTHY',
    value: ({ row }) => row.healthy ?? '',
    style: ({ row: { healthy } }) => (healthy === 'True' ? 'green' : healthy === 'False' ? 'red' : undefined),
  },
  { title: 'ACCESS TYPES', value: ({ row }) => row.accessTypes.join(',') },
  providerColumn,
  { title: 'VERSION', wide: true, value: ({ row }) => row.kubernetesVersion ?? '' },
  { title: 'SERVER', wide: true, value: ({ row }) => row.server ?? '' },
  { title: 'WHY NONE', wide: true, value: ({ row }) => row.error?.message ?? '' },
];

/** `get` shows what the profile contains, wrong values too. */
function toRow(profile: Profile, providers: readonly ConfiguredProvider[]): Row {
  const manager = textAt(profile, 'spec', 'clusterManager', 'name');
  const version = textAt(profile, 'status', 'version', 'kubernetes');
  const healthy = healthOf(profile);
  return {
    namespace: textAt(profile, 'metadata', 'namespace') ?? '',
    name: textAt(profile, 'metadata', 'name') ?? '',
    ...(manager === undefined ? {} : { manager }),
    ...(healthy === undefined ? {} : { healthy }),
    accessTypes: accessTypesOf(profile),
    ...(version === undefined ? {} : { kubernetesVersion: version }),
    ...served(profile, providers),
  };
}

function served(
  profile: Profile,
  providers: readonly ConfiguredProvider[],
): Pick<Row, 'provider' | 'server' | 'error'> {
  if (providers.length === 0) return {};
  const result = tryToResolve(profile, providers);
  if (!(result instanceof ProfileError)) return { provider: result.provider, server: result.cluster.server };
  return { error: { code: result.code, message: withoutProfile(result.message, profileName(profile)) } };
}

function accessTypesOf(profile: Profile): readonly string[] {
  const lists = ['accessProviders', 'credentialProviders'].flatMap((list) => listAt(profile, 'status', list));
  return [...new Set(lists.flatMap((entry) => textAt(entry, 'name') ?? []))];
}

function healthOf(profile: Profile): string | undefined {
  const conditions = listAt(profile, 'status', 'conditions');
  return textAt(
    conditions.find((one) => textAt(one, 'type') === 'ControlPlaneHealthy'),
    'status',
  );
}

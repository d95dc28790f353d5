/** Reads what the user gives: files, pipes, stdin, and options that are not text. */
import { readFile } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { abortable, errnoOf, homeKubeconfig, longestMs, parseDuration, statsOf } from '../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from './failure.ts';

/** Of stdin and pipes, by their paths. */
const texts = new Map<string, Promise<string>>();

/** The text of a file, or of stdin for `-`. stdin and a pipe are read once, however many options name them. Rejects with a `Failure`. */
export async function readSource(file: string, signal: AbortSignal): Promise<string> {
  const read = async () => {
    if (file === '-') return abortable(() => text(process.stdin), signal);
    return (await readInput(file, file, exitCodes.configuration, signal)).toString('utf8');
  };
  if (!isReadOnce(file)) return read();
  const known = texts.get(file) ?? read();
  texts.set(file, known);
  return known;
}

/** What a file or a pipe holds. `what` stands before the reason in the message. Rejects with a `Failure`. */
export async function readInput(what: string, file: string, exitCode: ExitCode, signal: AbortSignal): Promise<Buffer> {
  try {
    // A read of a pipe may wait for ever, and cannot be aborted.
    return await abortable(() => readFile(file), signal);
  } catch (error) {
    signal.throwIfAborted();
    const code = errnoOf(error);
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new Failure(exitCode, `${what} ${why}`, 'correct the path');
  }
}

/** As this process was started with it: later it leads plugins to the hub. */
const { KUBECONFIG } = process.env;

/** Where the hub's kubeconfig is read from: `--kubeconfig`, else the files that kubectl would read. They may be missing. */
export function kubeconfigPaths(given: string | undefined): readonly string[] {
  if (given !== undefined) return [given];
  return KUBECONFIG ? KUBECONFIG.split(delimiter).filter((path) => path !== '') : [homeKubeconfig() ?? []].flat();
}

/** Whether a path can be read once only, or by this process only: `-`, a pipe, `<(command)`, /dev/stdin. */
export function isReadOnce(file: string): boolean {
  if (file === '-' || /^\/(?:dev\/(?:fd\/|stdin$|tty)|proc\/)/.test(resolve(file))) return true;
  const stats = statsOf(file);
  // Reading it will say why it cannot be read.
  return stats !== undefined && (stats.isFIFO() || stats.isSocket());
}

/** The value of an option in milliseconds. Throws a `Failure`. */
export function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1 && ms <= longestMs) return ms;
  throw Failure.usage(`${option} ${text}: must be a duration such as 30s or 1m30s`);
}

/** Throws a `Failure`. */
export function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw Failure.usage(`${option} ${text}: must be a whole number of 1 or more`);
}

/** Fills in a template such as `{namespace}-{name}`. Throws a `Failure` for one that is empty or has another field. */
export function templateOf(
  option: string,
  template: string,
  fields: readonly string[],
): (values: Readonly<Record<string, string>>) => string {
  const places = /\{(.*?)\}/g;
  const unknown = [...template.matchAll(places)].find(([, field = '']) => !fields.includes(field));
  if (unknown || template === '') {
    const why = unknown ? `${unknown[0]} is not a field` : 'is empty';
    const known = fields.map((field) => `{${field}}`).join(', ');
    throw Failure.usage(`${option} ${template}: ${why}`, `the fields are ${known}`);
  }
  return (values) => template.replaceAll(places, (_, field: string) => values[field] ?? '');
}

/** How a user names a ClusterProfile. */
export interface AskedName {
  readonly namespace: string | undefined;
  readonly name: string;
}

/** `NAME`, `NAMESPACE/NAME`, or what `kubectl get -o name` prints: `clusterprofile.multicluster.x-k8s.io/NAME`. */
export function readName(argument: string): AskedName {
  const [first = '', second, third] = argument.replace(/^clusterprofiles?\.multicluster\.x-k8s\.io\//, '').split('/');
  if (first === '' || second === '' || third !== undefined) {
    const message = `'${argument}' is not the name of a ClusterProfile`;
    throw Failure.usage(message, 'write NAME, or NAMESPACE/NAME');
  }
  return second === undefined ? { namespace: undefined, name: first } : { namespace: first, name: second };
}

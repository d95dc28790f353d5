import type { ResolvedExec } from '../access/resolve.ts';
import type { ExecCluster } from './exec-credential.ts';

/** The most that Linux takes in one string, in bytes with its final NUL (MAX_ARG_STRLEN). */
const kernelStringLimit = 131_072;

/** The process's variables that stay in a clean environment (KEP-541, version of 2019). */
const cleanNames: ReadonlySet<string> = new Set(['PATH', 'HOME']);

/**
 * The environment of a run: the process's variables, then the configured ones, which replace them. Those of `appendIfNotExists` do not:
 * `leftOut` names the ones that exist already.
 */
export function environmentOf(
  { env, appendIfNotExists = [] }: Pick<ResolvedExec, 'env' | 'appendIfNotExists'>,
  clean: boolean,
): { readonly environment: Record<string, string>; readonly leftOut: readonly string[] } {
  // Without a prototype, so that a variable named __proto__ is one like any other.
  const environment: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && (!clean || cleanNames.has(name))) environment[name] = value;
  }
  const existing = new Set(appendIfNotExists.filter((name) => name in environment));
  for (const { name, value } of env) if (!existing.has(name)) environment[name] = value;
  return { environment, leftOut: [...existing] };
}

/** Returns why the kernel would refuse to start the plugin, naming what is too large, or `undefined`. */
export function inputProblem(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  cluster: ExecCluster | undefined,
): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const limit = `the kernel's limit of ${kernelStringLimit} bytes`;
  for (const [index, argument] of args.entries()) {
    const size = Buffer.byteLength(argument) + 1;
    if (size > kernelStringLimit) return `argument ${index + 1} has ${size} bytes, over ${limit}: shorten it`;
  }
  for (const [name, value] of Object.entries(environment)) {
    const size = Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
    if (size <= kernelStringLimit) continue;
    if (name !== 'KUBERNETES_EXEC_INFO') return `the variable ${name} has ${size} bytes, over ${limit}: shorten it`;
    const advice = 'if the plugin does not need it, set provideClusterInfo: false';
    return `KUBERNETES_EXEC_INFO has ${size} bytes, over ${limit}${largestPart(cluster)}: ${advice}`;
  }
  return undefined;
}

function largestPart(cluster: ExecCluster | undefined): string {
  const parts = Object.entries(cluster ?? {}).map(([field, value]) => ({ field, size: JSON.stringify(value).length }));
  const [largest] = parts.sort((a, b) => b.size - a.size);
  return largest ? ` (spec.cluster.${largest.field} alone has ${largest.size})` : '';
}

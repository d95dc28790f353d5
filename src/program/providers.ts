/** The access providers of a call: its `--clusterprofile-*` flags, or those that a workload on the hub or in a manifest runs with. */

import {
  type CallProviders,
  checkHardened,
  joinProviders,
  parseFlags,
  pickFlags,
  readProviderFile,
  textsOf,
} from '../diagnose/index.ts';
import { Failure } from './failure.ts';
import { isReadOnce, readSource } from './input.ts';
import type { Call } from './verb.ts';

/**
 * Throws a `ConfigurationError` that names the flag or the line of the file. No flag at all means no provider. A flag beside
 * `--from-pod-args` counts instead of the workload's.
 */
export async function providersOf(call: Call): Promise<CallProviders> {
  const own = pickFlags(call.providerFlags);
  const workload = call.options.text('from-pod-args');
  const found = workload === undefined ? undefined : await findIn(call, workload);
  const pod = found && pickFlags(textsOf(found.container));
  const values = { ...pod?.values, ...own.values };
  const { providers: flagged, providerFile, options } = parseFlags(values, [...(pod?.problems ?? []), ...own.problems]);
  const isOfPod = own.values['clusterprofile-provider-file'] === undefined;
  const readHere = async (path: string) =>
    isReadOnce(path) ? { path, text: await readSource(path, call.signal) } : readProviderFile(path);
  const readFile = (isOfPod && found?.readFile) || readHere;
  const file = providerFile === undefined ? undefined : await readFile(providerFile);
  const providers = joinProviders(flagged, file);
  if (options.hardened) checkHardened(providers, file ? `provider file ${file.path}` : 'flags');
  return { providers, options };
}

/** Most calls name no workload, and do not load what finds one. */
async function findIn(call: Call, workload: string) {
  const { findContainer } = await import('./workload.ts');
  return findContainer(call, workload);
}

/** For verbs that can do nothing without one. */
export async function requiredProvidersOf(call: Call): Promise<CallProviders> {
  const found = await providersOf(call);
  if (found.providers.length > 0) return found;
  throw Failure.configuration(
    `${call.verb.name} needs to know the controller's access providers, and no flag says them`,
    'give the flags that the controller runs with (--clusterprofile-provider-file FILE, --clusterprofile-access-provider TYPE=COMMAND), or --from-pod-args deployment/NAME',
  );
}

/** For the frame, which loads it only if there are such flags. */
export { pickFlags };

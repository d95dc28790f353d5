/** The access providers of a call: its `--clusterprofile-*` flags, or those that a workload on the hub or in a manifest runs with. */
import { existsSync } from 'node:fs';
import {
  at,
  type CallProviders,
  type Container,
  checkHardened,
  isObject,
  isWorkload,
  joinProviders,
  listAt,
  mountedAt,
  type ProviderFile,
  parseFlags,
  pickFlags,
  podSpecs,
  readContainer,
  readProviderFile,
  textAt,
  textOf,
  textsOf,
} from '../diagnose/index.ts';
import { Failure } from './failure.ts';
import { isReadOnce, readSource } from './input.ts';
import { parseManifest } from './profiles.ts';
import { configMaps, secrets, workloads } from './resources.ts';
import type { Call } from './verb.ts';

/** A flag beside `--from-pod-args` counts instead of the workload's. Throws a `ConfigurationError` that names the flag or the file's line. */
export async function providersOf(call: Call): Promise<CallProviders> {
  const own = pickFlags(call.providerFlags);
  const name = call.options.text('from-pod-args');
  const workload = name === undefined ? undefined : await findWorkload(call, name);
  const container = workload && containerOf(workload.object, call.options.text('container'));
  const pod = container && pickFlags(textsOf(container));
  const values = { ...pod?.values, ...own.values };
  const { providers: flagged, providerFile, options } = parseFlags(values, [...(pod?.problems ?? []), ...own.problems]);
  const isOfPod = own.values['clusterprofile-provider-file'] === undefined;
  const readFile = (path: string) => {
    if (workload && container && isOfPod) return readMounted(path, container, workload);
    return isReadOnce(path) ? readSource(path, call.signal).then((text) => ({ path, text })) : readProviderFile(path);
  };
  const file = providerFile === undefined ? undefined : await readFile(providerFile);
  const providers = joinProviders(flagged, file);
  if (options.hardened) checkHardened(providers, file ? `provider file ${file.path}` : 'flags');
  return { providers, options };
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

interface Workload {
  readonly object: object;
  /** Finds an object beside it, in its namespace. */
  readonly findObject: (kind: 'ConfigMap' | 'Secret', name: string) => Promise<object | undefined>;
  /** For messages. */
  readonly where: string;
}

/** `name` is `NAMESPACE/deployment/NAME`, `deployment/NAME`, or a manifest file. Throws a `Failure`. */
function findWorkload(call: Call, name: string): Promise<Workload> {
  return existsSync(name) || name === '-' ? fromManifest(call, name) : fromHub(call, name);
}

async function fromManifest({ signal }: Call, file: string): Promise<Workload> {
  const objects = parseManifest(await readSource(file, signal), file);
  const [object, second] = objects.filter((one) => isWorkload(textAt(one, 'kind') ?? ''));
  if (!object) {
    const hint = 'give the manifest of a Deployment, or deployment/NAME for one on the hub';
    throw Failure.configuration(`${file} has no workload`, hint);
  }
  if (second) {
    const message = `${file} has more than one workload: ${describeObject(object)}, ${describeObject(second)}`;
    throw Failure.usage(message, 'give a manifest that has the controller alone, and its ConfigMaps');
  }
  return {
    object,
    findObject: async (kind, name) =>
      objects.find((one) => textAt(one, 'kind') === kind && textAt(one, 'metadata', 'name') === name),
    where: file,
  };
}

async function fromHub(call: Call, workload: string): Promise<Workload> {
  const [name = '', kind = '', ...before] = workload.split('/').reverse();
  // `deployment.apps/NAME` is what kubectl prints.
  const resource = workloads[kind.toLowerCase().replace(/\.(?:v1\.)?apps$/, '')];
  if (!resource || name === '' || before.length > 1) {
    const message = `--from-pod-args ${workload}: there is no such file`;
    throw Failure.configuration(message, 'give a manifest file, deployment/NAME or NAMESPACE/deployment/NAME');
  }
  // Most calls name no workload of the hub.
  const { openHub } = await import('./hub.ts');
  const hub = await openHub(call);
  const namespace = before[0] ?? call.options.text('namespace') ?? hub.namespace;
  const object = await hub.find(resource, namespace, name);
  if (!isObject(object)) {
    const message = `there is no ${kind} ${name} in namespace ${namespace} of the hub`;
    throw Failure.notFound(message, `write NAMESPACE/${kind}/NAME for another namespace`);
  }
  return {
    // The hub does not say it in an object of a list.
    object: { kind: resource.kind, ...object },
    findObject: async (kind, one) => {
      const found = await hub.find(kind === 'Secret' ? secrets : configMaps, namespace, one);
      return isObject(found) ? { kind, ...found } : undefined;
    },
    where: `namespace ${namespace} of the hub`,
  };
}

/** A file as the container sees it: from a ConfigMap or a Secret, else from this machine. */
async function readMounted(path: string, container: Container, { findObject, where }: Workload): Promise<ProviderFile> {
  const mounted = mountedAt(container, path);
  for (const { kind, name, key } of mounted) {
    const object = await findObject(kind, name);
    const text = object && textOf(object, key);
    if (text !== undefined) return { path: `${path} (${kind} ${name})`, text };
  }
  const instead = 'give --clusterprofile-provider-file with a copy of it';
  if (mounted.length > 0) {
    const names = mounted.map(({ kind, name, key }) => `${kind} ${name} with the key ${key}`).join(' or ');
    throw Failure.configuration(`provider file ${path} is in ${names}, and ${where} has none`, instead);
  }
  if (existsSync(path)) return readProviderFile(path);
  const message = `provider file ${path} is in the image of container ${container.name}, or in a volume that cannot be read here`;
  throw Failure.configuration(message, instead);
}

/** The container that has the flags, or the one that `--container` names. Throws a `Failure`. */
export function containerOf(workload: object, wanted: string | undefined): Container {
  const pod = at(workload, ...(podSpecs[textAt(workload, 'kind') ?? ''] ?? []));
  const containers = listAt(pod, 'containers').map((container) => readContainer(container, pod));
  const what = describeObject(workload);
  const names = containers.map(({ name }) => name).join(', ');
  if (wanted !== undefined) {
    const found = containers.find(({ name }) => name === wanted);
    if (found) return found;
    throw Failure.notFound(`${what} has no container ${wanted}`, `its containers are ${names}`);
  }
  const flagged = containers.filter((container) => pickFlags(textsOf(container)).given.length > 0);
  const [first, second] = flagged;
  if (first && !second) return first;
  if (second) {
    const both = flagged.map(({ name }) => name).join(', ');
    throw Failure.usage(`${what} has more than one container with such flags`, `give --container: ${both}`);
  }
  throw Failure.configuration(
    `${what} has no container with --clusterprofile-* flags as arguments (containers: ${names || 'none'})`,
    'check whether it is the controller, or give the flags yourself',
  );
}

/** `Deployment fleet`, for messages. */
const describeObject = (object: object) =>
  `${textAt(object, 'kind') ?? ''} ${textAt(object, 'metadata', 'name') ?? ''}`;

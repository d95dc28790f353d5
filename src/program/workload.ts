/** Finds the workload that `--from-pod-args` means, on the hub or in a manifest, and the provider file that is mounted into it. */
import { existsSync } from 'node:fs';
import {
  at,
  type Container,
  isWorkload,
  listAt,
  mountedAt,
  type ProviderFile,
  pickFlags,
  podSpecs,
  readContainer,
  readProviderFile,
  textAt,
  textOf,
  textsOf,
} from '../diagnose/index.ts';
import { Failure } from './failure.ts';
import { readSource } from './input.ts';
import { parseManifest } from './profiles.ts';
import { configMaps, secrets, workloads } from './resources.ts';
import type { Call } from './verb.ts';

/** A container, and how to read a file that it sees. */
export interface FoundContainer {
  readonly container: Container;
  readonly readFile: (path: string) => Promise<ProviderFile>;
}

/** Finds an object beside the workload, in its namespace. */
type FindObject = (kind: 'ConfigMap' | 'Secret', name: string) => Promise<object | undefined>;

/** `workload` is the argument: `NAMESPACE/deployment/NAME`, `deployment/NAME`, or a manifest file. Throws a `Failure`. */
export async function findContainer(call: Call, workload: string): Promise<FoundContainer> {
  const { object, findObject, where } =
    existsSync(workload) || workload === '-' ? await fromManifest(call, workload) : await fromHub(call, workload);
  const container = containerOf(object, call.options.text('container'));
  return { container, readFile: (path) => readMounted(path, container, findObject, where) };
}

interface FoundWorkload {
  readonly object: object;
  readonly findObject: FindObject;
  /** For messages. */
  readonly where: string;
}

async function fromManifest({ signal }: Call, file: string): Promise<FoundWorkload> {
  const objects = parseManifest(await readSource(file, signal), file);
  const [object, second] = objects.filter((one) => isWorkload(textAt(one, 'kind') ?? ''));
  if (!object) {
    const hint = 'give the manifest of a Deployment, or deployment/NAME for one on the hub';
    throw Failure.configuration(`${file} has no workload`, hint);
  }
  if (second) {
    const names = [object, second].map((one) => `${textAt(one, 'kind')} ${textAt(one, 'metadata', 'name')}`);
    const message = `${file} has more than one workload: ${names.join(', ')}`;
    throw Failure.usage(message, 'give a manifest that has the controller alone, and its ConfigMaps');
  }
  const findObject: FindObject = async (kind, name) =>
    objects.find((one) => textAt(one, 'kind') === kind && textAt(one, 'metadata', 'name') === name);
  return { object, findObject, where: file };
}

async function fromHub(call: Call, workload: string): Promise<FoundWorkload> {
  const [name = '', kind = '', ...before] = workload.split('/').reverse();
  // `deployment.apps/NAME` is what kubectl prints.
  const resource = workloads[kind.toLowerCase().replace(/\.(?:v1\.)?apps$/, '')];
  if (!resource || name === '' || before.length > 1) {
    const message = `--from-pod-args ${workload}: there is no such file`;
    throw Failure.configuration(message, 'give a manifest file, deployment/NAME or NAMESPACE/deployment/NAME');
  }
  const { openHub } = await import('./hub.ts');
  const hub = await openHub(call);
  const namespace = before[0] ?? call.options.text('namespace') ?? hub.namespace;
  const object = await hub.find(resource, namespace, name);
  if (typeof object !== 'object' || object === null) {
    const message = `there is no ${kind} ${name} in namespace ${namespace} of the hub`;
    throw Failure.notFound(message, `write NAMESPACE/${kind}/NAME for another namespace`);
  }
  // The hub does not say it in an object of a list.
  const named = { kind: resource.kind, ...object };
  const findObject: FindObject = async (kind, one) => {
    const found = await hub.find(kind === 'Secret' ? secrets : configMaps, namespace, one);
    return typeof found === 'object' && found !== null ? { kind, ...found } : undefined;
  };
  return { object: named, findObject, where: `namespace ${namespace} of the hub` };
}

/** A file as the container sees it: from a ConfigMap or a Secret, else from this machine. */
async function readMounted(
  path: string,
  container: Container,
  findObject: FindObject,
  where: string,
): Promise<ProviderFile> {
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
  const pod = at(workload, ...(podSpecs[kindOf(workload)] ?? []));
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
const describeObject = (object: object): string => `${kindOf(object)} ${textAt(object, 'metadata', 'name') ?? ''}`;

const kindOf = (object: object): string => textAt(object, 'kind') ?? '';

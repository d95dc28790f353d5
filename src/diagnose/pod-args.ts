/** What a controller runs with, from its manifests: the flags of a workload, and the provider file that is mounted into it. Pure. */
import { at, listAt, textAt } from './profile.ts';

/** Where the template of the pods stands in each kind of workload. */
export const podSpecs: Readonly<Record<string, readonly string[]>> = {
  Pod: ['spec'],
  ReplicaSet: ['spec', 'template', 'spec'],
  Deployment: ['spec', 'template', 'spec'],
  StatefulSet: ['spec', 'template', 'spec'],
  DaemonSet: ['spec', 'template', 'spec'],
  Job: ['spec', 'template', 'spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
};

/** Whether pods are made of it. */
export function isWorkload(kind: string): boolean {
  return Object.hasOwn(podSpecs, kind);
}

/** A container, as far as this reads it. */
export interface Container {
  readonly name: string;
  /** All arguments, its command's too. */
  readonly args: readonly Argument[];
  /** Its volume mounts, and the volumes of its pod, as they are in the manifest. */
  readonly mounts: readonly unknown[];
  readonly volumes: readonly unknown[];
}

interface Argument {
  /** With the container's own variables that it refers to. */
  readonly text: string;
  /** Of the list in the container, and of its entry. */
  readonly keys: readonly ['command' | 'args', number];
}

export const textsOf = ({ args }: Container): readonly string[] => args.map(({ text }) => text);

/** An object that holds the file at a path of a container. */
interface Mounted {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  readonly key: string;
}

/** What is mounted at a path: each of several sources may have it. */
export function mountedAt({ mounts, volumes }: Container, path: string): readonly Mounted[] {
  const found = mounts
    .map((mount) => ({ mount, root: textAt(mount, 'mountPath') ?? '' }))
    .filter(({ root }) => path === root || path.startsWith(`${root.replace(/\/$/, '')}/`));
  // The innermost one.
  const [inner] = found.toSorted((a, b) => b.root.length - a.root.length);
  if (!inner) return [];
  const { mount, root } = inner;
  const below = path.slice(root.length).replace(/^\//, '');
  const inVolume = [textAt(mount, 'subPath'), below].filter(Boolean).join('/');
  const volume = volumes.find((one) => textAt(one, 'name') === textAt(mount, 'name'));
  const sources = [volume, ...listAt(volume, 'projected', 'sources')];
  return sources.flatMap((source) => keyIn(source, inVolume) ?? []);
}

/** The key of a ConfigMap or Secret, a volume's or one of its sources, that is at a path there. */
function keyIn(source: unknown, path: string): Mounted | undefined {
  const [configMap, secret] = [at(source, 'configMap'), at(source, 'secret')];
  const name = textAt(configMap, 'name') ?? textAt(secret, 'secretName') ?? textAt(secret, 'name');
  const object = configMap ?? secret;
  const item = listAt(object, 'items').find((one) => textAt(one, 'path') === path);
  // Without items, each key is a path.
  const key = at(object, 'items') === undefined ? path : textAt(item, 'key');
  return name && key ? { kind: configMap === undefined ? 'Secret' : 'ConfigMap', name, key } : undefined;
}

/** The text that a ConfigMap or a Secret has under a key. */
export function textOf(object: object, key: string): string | undefined {
  const [plain, encoded] = textAt(object, 'kind') === 'Secret' ? ['stringData', 'data'] : ['data', 'binaryData'];
  const base64 = textAt(object, encoded, key);
  return textAt(object, plain, key) ?? (base64 && Buffer.from(base64, 'base64').toString('utf8'));
}

/** `pod` is the spec that it is in; without it, no file of it is found. */
export function readContainer(container: unknown, pod?: unknown): Container {
  const env = new Map(
    listAt(container, 'env').map((variable) => [textAt(variable, 'name') ?? '', textAt(variable, 'value')]),
  );
  const args = (['command', 'args'] as const).flatMap((list) =>
    listAt(container, list).flatMap((text, index) =>
      typeof text === 'string' ? [{ text: expand(text, env), keys: [list, index] as const }] : [],
    ),
  );
  const name = textAt(container, 'name') ?? '';
  return { name, args, mounts: listAt(container, 'volumeMounts'), volumes: listAt(pod, 'volumes') };
}

/** As the kubelet does it: `$(NAME)` is the variable's value, if it has one here; `$$(NAME)` is `$(NAME)`. */
function expand(argument: string, env: ReadonlyMap<string, string | undefined>): string {
  return argument.replace(/\$(\$|\(([^)]*)\))/g, (found, one: string, name: string) =>
    one === '$' ? '$' : (env.get(name) ?? found),
  );
}

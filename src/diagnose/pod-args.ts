/**
 * Finds what a controller actually runs with: the `--clusterprofile-*` flags of a workload, and the provider file that is mounted into
 * it. Pure: the caller reads the manifests.
 */
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
  readonly mounts: readonly Mount[];
}

export interface Argument {
  /** With the container's own variables that it refers to. */
  readonly text: string;
  /** Of the list in the container, and of its entry. */
  readonly keys: readonly ['command' | 'args', number];
}

/** The texts of the arguments. */
export const textsOf = ({ args }: Container): readonly string[] => args.map(({ text }) => text);

/** A file or folder in the container, and where it comes from. */
export interface Mount {
  readonly path: string;
  /** A key of the source, if only that is mounted. */
  readonly subPath: string | undefined;
  /** Of the pod; `undefined` if it has no such volume. */
  readonly volume: unknown;
}

interface Source {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  /** Paths by their keys, if they are named one by one. */
  readonly items: readonly { readonly key: string; readonly path: string }[] | undefined;
}

/** An object that holds the file at a path of a container. */
export interface Mounted {
  readonly kind: Source['kind'];
  readonly name: string;
  readonly key: string;
}

/** The innermost mount that a file of the container lies in. */
function mountOf({ mounts }: Pick<Container, 'mounts'>, path: string): Mount | undefined {
  return mounts
    .filter((mount) => path === mount.path || path.startsWith(`${mount.path.replace(/\/$/, '')}/`))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
}

/** What is mounted at a path: each of several sources may have it. */
export function mountedAt(container: Pick<Container, 'mounts'>, path: string): readonly Mounted[] {
  const mount = mountOf(container, path);
  if (!mount) return [];
  const below = path.slice(mount.path.length).replace(/^\//, '');
  const inVolume = [mount.subPath, below].filter(Boolean).join('/');
  return sourcesOf(mount.volume).flatMap(({ kind, name, items }) => {
    const key = items ? items.find((item) => item.path === inVolume)?.key : inVolume;
    return key === undefined || key === '' ? [] : [{ kind, name, key }];
  });
}

/** The text that a ConfigMap or a Secret has under a key. */
export function textOf(object: object, key: string): string | undefined {
  const [plain, encoded] = textAt(object, 'kind') === 'Secret' ? ['stringData', 'data'] : ['data', 'binaryData'];
  const base64 = textAt(object, encoded, key);
  return textAt(object, plain, key) ?? (base64 && Buffer.from(base64, 'base64').toString('utf8'));
}

/** `volumes` are those of the pod. */
export function readContainer(container: unknown, volumes: ReadonlyMap<string, unknown> = new Map()): Container {
  const env = new Map(
    listAt(container, 'env').map((variable) => [textAt(variable, 'name') ?? '', textAt(variable, 'value')]),
  );
  const args = (['command', 'args'] as const).flatMap((list) =>
    listAt(container, list).flatMap((text, index) =>
      typeof text === 'string' ? [{ text: expand(text, env), keys: [list, index] as const }] : [],
    ),
  );
  const mounts = listAt(container, 'volumeMounts').map((mount) => ({
    path: textAt(mount, 'mountPath') ?? '',
    subPath: textAt(mount, 'subPath'),
    volume: volumes.get(textAt(mount, 'name') ?? ''),
  }));
  return { name: textAt(container, 'name') ?? '', args, mounts };
}

/** The volumes of a pod by their names. */
export function volumesOf(pod: unknown): ReadonlyMap<string, unknown> {
  return new Map(listAt(pod, 'volumes').map((volume) => [textAt(volume, 'name') ?? '', volume]));
}

function sourcesOf(volume: unknown): readonly Source[] {
  const projected = listAt(volume, 'projected', 'sources');
  return [volume, ...projected].flatMap((one): readonly Source[] => {
    const [configMap, secret] = [at(one, 'configMap'), at(one, 'secret')];
    const name = textAt(configMap, 'name') ?? textAt(secret, 'secretName') ?? textAt(secret, 'name');
    if (name === undefined) return [];
    const found = configMap ?? secret;
    const items = at(found, 'items') === undefined ? undefined : listAt(found, 'items');
    return [
      {
        kind: configMap === undefined ? 'Secret' : 'ConfigMap',
        name,
        items: items?.map((item) => ({ key: textAt(item, 'key') ?? '', path: textAt(item, 'path') ?? '' })),
      },
    ];
  });
}

/** As the kubelet does it: `$(NAME)` is the variable's value, if it has one here; `$$(NAME)` is `$(NAME)`. */
function expand(argument: string, env: ReadonlyMap<string, string | undefined>): string {
  return argument.replace(/\$(\$|\(([^)]*)\))/g, (found, one: string, name: string) =>
    one === '$' ? '$' : (env.get(name) ?? found),
  );
}

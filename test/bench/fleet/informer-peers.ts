// Informers in processes of their own, spoken to line by line.
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

/** What an informer says of its first list. */
export interface Synced {
  readonly seconds: number;
  /** Seconds. */
  readonly cpu: number;
  readonly objects: number;
  /** MB, before the list and after it. */
  readonly start: number;
  readonly peak: number;
  /** Bytes of heap for each object. */
  readonly heap: number;
}

export interface Counted {
  readonly events: number;
  /** Seconds since the last `reset`. */
  readonly cpu: number;
}

export type NodePeer = 'ours' | 'ours, metadata' | 'client-node';

/** Where to, and as whom. */
export interface Target {
  readonly server: string;
  readonly certificateAuthorityData: string;
  /** A plugin that gives a token. */
  readonly command: string;
  /** For client-node, which runs no plugin here. */
  readonly token?: string;
  readonly namespace: string;
  /** More fields of the profile's cluster. */
  readonly cluster?: { readonly 'proxy-url'?: string; readonly 'disable-compression'?: boolean };
}

/** An informer that runs. */
export interface RunningInformer {
  readonly synced: Promise<Synced>;
  reset(): Promise<void>;
  count(): Promise<Counted>;
  /** By key, version, uid and length of what is cached. */
  dump(): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
}

function start(file: string, args: readonly string[]): RunningInformer {
  const child = execa(file, args, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit', buffer: false, reject: false });
  const lines = child.iterable()[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${file} has ended`);
    return JSON.parse(String(value));
  };
  let last: Promise<unknown> = next();
  const ask = (question: string) => {
    const answer = last.then(() => {
      child.stdin.write(`${question}\n`);
      return next();
    });
    last = answer;
    return answer;
  };
  return {
    synced: last as Promise<Synced>, // what both programs say
    reset: async () => void (await ask('reset')),
    count: () => ask('count'),
    dump: async () => (await ask('dump')).objects,
    close: async () => {
      child.stdin.end();
      await child;
    },
  };
}

export function startNodeInformer(peer: NodePeer, target: Target): RunningInformer {
  const program = fileURLToPath(new URL('./informer-process.ts', import.meta.url));
  return start(process.execPath, ['--expose-gc', program, JSON.stringify({ peer, ...target })]);
}

/** `program` is the build of test/e2e/access/informer. */
export function startGoInformer(
  program: string,
  kubeconfig: string,
  namespace: string,
  encoding: 'json' | 'protobuf' | 'metadata',
): RunningInformer {
  return start(program, [kubeconfig, namespace, encoding]);
}

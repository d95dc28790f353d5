// Replicas of a sharded fleet, each a process.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import type { Lifetime } from '../fixture.ts';

/** What a replica says of a shard; see `FleetEvents`. */
export interface ShardEvent {
  readonly shard: number;
  readonly change: 'taken' | 'taken_over' | 'handed_over' | 'lost';
  readonly owner: string;
  readonly unownedMs?: number;
}

export interface Replica {
  readonly identity: string;
  readonly events: readonly ShardEvent[];
  /** What it has logged. */
  readonly warnings: readonly string[];
  /** The shards that it owns by its own word. */
  readonly owned: ReadonlySet<number>;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<unknown>;
  readonly hasEnded: boolean;
}

export interface ReplicaOptions {
  readonly kubeconfig: string;
  readonly command: string;
  readonly durationMs: number;
}

/** What replicas share. */
type Shared = 'clusters' | 'hub' | 'children';

/** Replicas that are called by their number, and killed with the test. */
export function startCrew(life: Lifetime, options: ReplicaOptions, of: Shared) {
  const all: Replica[] = [];
  const living = new Set<Replica>();
  life.after(() => {
    for (const { signal } of all) signal('SIGKILL');
    return Promise.all(all.map(({ ended }) => ended));
  });
  const first = () => [...living][0] ?? assert.fail('no replica lives');
  return {
    all: all as readonly Replica[],
    living,
    first,
    start: () => {
      const replica = startReplica(`replica-${all.length}`, options, of);
      all.push(replica);
      living.add(replica);
      return replica;
    },
    /** Ends one, and waits for that. */
    end: async (signal: NodeJS.Signals, replica = first()) => {
      living.delete(replica);
      replica.signal(signal);
      await replica.ended;
      return replica;
    },
    /** What each has logged last. */
    told: () => all.map(({ identity, warnings }) => `${identity}: ${warnings.at(-1)}`).join('; '),
    /** Fails where one has ended by itself. */
    check: () => {
      for (const { identity, hasEnded } of living) assert.ok(!hasEnded, `${identity} has ended by itself`);
    },
  };
}

function startReplica(identity: string, { kubeconfig, command, durationMs }: ReplicaOptions, of: Shared): Replica {
  const name = { clusters: './replica-process.ts', hub: './hub-replica-process.ts', children: './children-process.ts' }[
    of
  ];
  const program = fileURLToPath(new URL(name, import.meta.url));
  const child = execa(process.execPath, [program, kubeconfig, command, identity, String(durationMs)], {
    stdin: 'ignore',
    stderr: 'inherit',
    buffer: false,
    reject: false,
  });
  const events: ShardEvent[] = [];
  const warnings: string[] = [];
  const owned = new Set<number>();
  const read = async () => {
    for await (const line of child.iterable()) {
      // A process that is killed may leave half a line.
      if (!String(line).endsWith('}')) continue;
      const said = JSON.parse(String(line)) as ShardEvent | { readonly warning: string }; // the program above writes it
      if ('warning' in said) {
        warnings.push(said.warning);
        continue;
      }
      events.push(said);
      if (said.change === 'taken' || said.change === 'taken_over') owned.add(said.shard);
      else owned.delete(said.shard);
    }
    await child;
    hasEnded = true;
  };
  let hasEnded = false;
  return {
    identity,
    events,
    warnings,
    owned,
    signal: (name) => void child.kill(name),
    ended: read(),
    get hasEnded() {
      return hasEnded;
    },
  };
}

// A process that contends for a Lease, client-go's or ours, and the times in which it led by the machine's monotonic clock.
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

export type Side = 'client-go' | 'ours';

/** The settings of all contenders, in milliseconds. */
export const timing = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 400 } as const;

/** From the first moment in which a process led to the last, without another leader's in between if all is well. */
export interface Leading {
  readonly identity: string;
  /** Milliseconds of the monotonic clock, with fractions. */
  readonly from: number;
  to: number;
}

export interface Contender {
  readonly side: Side;
  readonly identity: string;
  /** Its terms, in their order. */
  readonly terms: readonly Leading[];
  /** The identities that it was told of as leaders. */
  readonly leaders: readonly string[];
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<unknown>;
}

/** Where the Lease is; `program` is the build of test/e2e/access/leader. */
export interface Place {
  readonly program: string;
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly name: string;
}

const ourProgram = fileURLToPath(new URL('./leader-process.ts', import.meta.url));

export function startContender(side: Side, identity: string, place: Place): Contender {
  const times = [timing.leaseDurationMs, timing.renewDeadlineMs, timing.retryPeriodMs];
  const args = [place.kubeconfig, place.namespace, place.name, identity];
  const [file, all] =
    side === 'ours'
      ? [process.execPath, [ourProgram, ...args, ...times.map(String)]]
      : [place.program, [...args, ...times.map((ms) => `${ms}ms`)]];
  const child = execa(file, all, { stdin: 'ignore', stderr: 'ignore', buffer: false, reject: false });
  const terms = new Map<string, Leading>();
  const leaders: string[] = [];
  const read = async () => {
    for await (const line of child.iterable()) {
      const [what, first = '', at = ''] = String(line).split(' ');
      if (what === 'leader') leaders.push(first);
      // A process that is killed may leave half a line.
      if (what !== 'beat' || !/^\d{8,}$/.test(at)) continue;
      const moment = Number(BigInt(at)) / 1e6;
      const known = terms.get(first);
      if (known) known.to = moment;
      else terms.set(first, { identity, from: moment, to: moment });
    }
    await child;
  };
  const ended = read();
  return {
    side,
    identity,
    get terms() {
      return [...terms.values()];
    },
    leaders,
    signal: (name) => void child.kill(name),
    ended,
  };
}

// Many fake clusters in a few processes, their profiles on a hub, and what their records say.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ControlPlane } from '../control-plane.ts';
import { publish } from '../crd.ts';
import { accessBy, clusterOf, type Lifetime } from '../fixture.ts';
import type { Address, Calls, Records } from './clusters-process.ts';

const processes = 2;

/** `count` clusters that accept the tokens of these replicas. */
export async function startSpokes(life: Lifetime, count: number, identities: readonly string[]) {
  const program = new URL('./clusters-process.ts', import.meta.url);
  const children: ChildProcess[] = [];
  const addresses: Address[] = [];
  for (let i = 0; i < processes; i++) {
    const child = fork(program, [String(count / processes), ...identities], { execArgv: [] });
    life.after(() => child.disconnect());
    children.push(child);
    const [started] = await once(child, 'message');
    addresses.push(...started);
  }
  const ask = async (child: ChildProcess): Promise<Records> => {
    const answer = once(child, 'message');
    child.send('records');
    return (await answer)[0];
  };
  /** By cluster, who called it and when. */
  const records = async (): Promise<Records> => (await Promise.all(children.map(ask))).flat();
  return { addresses, records };
}

/** A profile on the hub for each. */
export async function publishAll(hub: ControlPlane, addresses: readonly Address[]): Promise<void> {
  const publishOne = ({ url: server, certificateAuthorityData }: Address, index: number) =>
    publish(hub, `spoke-${index}`, accessBy('fake', clusterOf({ server, certificateAuthorityData })));
  for (let i = 0; i < addresses.length; i += 20)
    await Promise.all(addresses.slice(i, i + 20).map((address, index) => publishOne(address, i + index)));
}

/** The first call of a cluster that came between two calls of an engagement of somebody else. */
export function overlapOf(records: Records): string | undefined {
  for (const [cluster, calls] of records.entries()) {
    const engagements = calls.filter(({ engagement }) => engagement !== '');
    for (const { replica, from, to } of engagements) {
      const other = calls.find((one) => one.replica !== replica && one.from < to && one.to > from);
      if (!other) continue;
      const history = calls
        .toSorted((a, b) => a.from - b.from)
        .map((one) => `${(one.from - from).toFixed(1)} to ${(one.to - from).toFixed(1)} ms: ${one.replica} ${one.url}`);
      return `cluster ${cluster} was called by ${replica} and ${other.replica} at once:\n  ${history.join('\n  ')}`;
    }
  }
  return undefined;
}

/** Whether each cluster was called for an engagement of one of these replicas after a moment. */
export function areServed(records: Records, since: number, living: ReadonlySet<string>): boolean {
  const isServing = ({ replica, engagement, to }: Calls) => engagement !== '' && to > since && living.has(replica);
  return records.every((calls) => calls.some(isServing));
}

/** Milliseconds from the last call of one replica to the first of the next, where that was after a moment. Sorted. */
export function gapsOf(records: Records, since: number): readonly number[] {
  const gaps = records.flatMap((calls) => {
    const engagements = calls.filter(({ engagement }) => engagement !== '').toSorted((a, b) => a.from - b.from);
    return engagements.flatMap(({ replica, from }, index) => {
      const before = engagements[index - 1];
      return before && before.replica !== replica && from > since ? [from - before.to] : [];
    });
  });
  return gaps.toSorted((a, b) => a - b);
}

/** How many calls came in a span of time: at least, since those of one engagement are told as one span. */
export function callsBetween(records: Records, from: number, to: number): number {
  return records.flat().filter((calls) => calls.from < to && calls.to > from && (calls.from > from || calls.to < to))
    .length;
}

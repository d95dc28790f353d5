// Objects of the hub, each of which is one replica's, and what a watch shows of who wrote to them.
import { reflect } from '../../../src/fleet/index.ts';
import type { RestConfig } from '../../../src/index.ts';
import type { Lifetime } from '../fixture.ts';

export const hubObjects = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' } as const;
/** Names the replica that wrote last, its term, and its write: `replica-1-7 12`. */
export const termAnnotation = 'example.dev/term';

interface Write {
  readonly term: string;
  /** When the watch showed it, by the machine's monotonic clock. */
  readonly at: number;
}

interface LateWrite {
  readonly term: string;
  /** The terms of all writes to this object. */
  readonly history: string;
}

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;

export function startHubObjects(life: Lifetime, config: RestConfig) {
  const stop = new AbortController();
  const writes = new Map<string, Write[]>();
  const follow = async () => {
    for await (const event of reflect(config, { ...hubObjects, signal: stop.signal })) {
      if (event.type !== 'Apply' && event.type !== 'InitApply') continue;
      const { name, annotations = {} } = event.object.metadata;
      const term = annotations[termAnnotation]?.replace(/ .*/, '');
      if (term === undefined || !writes.has(name)) continue;
      writes.get(name)?.push({ term, at: monotonic() });
    }
  };
  const following = follow();
  life.after(() => {
    stop.abort();
    return following;
  });
  return {
    create: async (count: number) => {
      const client = config.resource(hubObjects);
      for (let i = 0; i < count; i++) {
        const name = `object-${writes.size}`;
        writes.set(name, []);
        await client.create({ metadata: { name } });
      }
    },
    /** Whether each of them was written by one of these replicas after a moment. */
    areServed: (since: number, living: ReadonlySet<string>) =>
      [...writes.values()].every((all) =>
        all.some(({ term, at }) => at > since && living.has(term.replace(/-\d+$/, ''))),
      ),
    /** Writes of a term after another term had written: two replicas had the object, or one wrote after it had lost it. */
    late: (): readonly LateWrite[] =>
      [...writes].flatMap(([name, all]) => {
        const over = new Set<string>();
        const history = `${name}: ${all.map(({ term }) => term).join(', ')}`;
        let last: string | undefined;
        const late: LateWrite[] = [];
        for (const { term } of all) {
          if (over.has(term)) {
            late.push({ term, history });
            continue;
          }
          if (last !== undefined && last !== term) over.add(last);
          last = term;
        }
        return late;
      }),
  };
}

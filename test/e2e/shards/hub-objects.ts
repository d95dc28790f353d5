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

export interface HubObjects {
  create(count: number): Promise<void>;
  /** Whether each of them was written by one of these replicas after a moment. */
  areServed(since: number, living: ReadonlySet<string>): boolean;
  /** The first write of a term after another term had written: two replicas had the object, or one after it had lost it. */
  overlap(): string | undefined;
  /** Forgets what was written so far. */
  forget(): void;
}

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;

export function startHubObjects(life: Lifetime, config: RestConfig): HubObjects {
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
    create: async (count) => {
      const client = config.resource(hubObjects);
      for (let i = 0; i < count; i++) {
        const name = `object-${writes.size}`;
        writes.set(name, []);
        await client.create({ metadata: { name } });
      }
    },
    areServed: (since, living) =>
      [...writes.values()].every((all) =>
        all.some(({ term, at }) => at > since && living.has(term.replace(/-\d+$/, ''))),
      ),
    overlap: () => {
      for (const [name, all] of writes) {
        const over = new Set<string>();
        for (const [index, { term }] of all.entries()) {
          if (over.has(term)) return `${name} was written by ${all.map((write) => write.term).join(', ')}`;
          if (all[index + 1]?.term !== term) over.add(term);
        }
      }
      return undefined;
    },
    forget: () => {
      for (const all of writes.values()) all.length = 0;
    },
  };
}

// A replica that shares the objects of a hub. It writes to each object that it has again and again, from a reconcile and from a loop
// that does not care whether the object is still its own.
import type { RestConfig } from '../../../src/index.ts';
import { hubObjects, termAnnotation } from './hub-objects.ts';
import { given, runReplica, sendCarelessly } from './replica-program.ts';

/** Milliseconds between two writes to an object, by each of the two. */
const periodMs = 1_000;

/** In each term of a shard the config of the hub is another one. */
const terms = new WeakMap<RestConfig, { readonly name: string; readonly objects: Set<string> }>();
let count = 0;
let writes = 0;

await runReplica([], (fleet) => {
  fleet.controller({
    name: 'work',
    // What it writes is no reason to write again.
    for: { ...hubObjects, on: 'hub', metadataOnly: true, when: () => false },
    perClusterConcurrency: 100,
    reconcile: async ({ name }, { hub, signal }) => {
      const term = terms.get(hub) ?? { name: `${given.identity}-${++count}`, objects: new Set() };
      terms.set(hub, term);
      // With a number: a write that changes nothing is not shown by a watch.
      const write = (options: { readonly signal?: AbortSignal } = {}) => {
        const annotations = { [termAnnotation]: `${term.name} ${++writes}` };
        return hub.resource(hubObjects).patch(name, { metadata: { annotations } }, options);
      };
      if (!term.objects.has(name)) sendCarelessly(write, periodMs);
      term.objects.add(name);
      await write({ signal });
      return { requeueAfterMs: periodMs };
    },
  });
});

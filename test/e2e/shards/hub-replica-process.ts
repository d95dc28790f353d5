// A replica that shares the objects of a hub: hub-replica-process.ts KUBECONFIG COMMAND IDENTITY DURATION_MS. It writes to each object
// that it has again and again, from a reconcile and from a loop that does not care whether the object is still its own, and says what
// becomes of its shards. On SIGTERM it leaves.
import { subscribe } from 'node:diagnostics_channel';
import { Fleet } from '../../../src/fleet/index.ts';
import { CredentialProviders, RestConfig } from '../../../src/index.ts';
import { hubObjects, termAnnotation } from './hub-objects.ts';

const [, , kubeconfig = '', , identity = '', durationMs = ''] = process.argv;
/** Milliseconds between two writes to an object, by each of the two. */
const periodMs = 1_000;
const say = (line: object) => console.log(JSON.stringify(line));

const logger = { warn: (_fields: object, warning: string) => say({ warning }) };
const providers = new CredentialProviders([], { logger });
const fleet = new Fleet({
  hub: RestConfig.fromKubeConfig({ path: kubeconfig }),
  providers,
  namespaces: ['default'],
  logger,
  sharding: { namespace: 'default', name: 'e2e', identity, leaseDurationMs: Number(durationMs) },
});

/** In each term of a shard the config of the hub is another one. */
const terms = new WeakMap<RestConfig, { readonly name: string; readonly objects: Set<string> }>();
let count = 0;
let writes = 0;
fleet.controller({
  name: 'work',
  // What it writes is no reason to write again.
  for: { ...hubObjects, on: 'hub', metadataOnly: true, when: () => false },
  perClusterConcurrency: 100,
  reconcile: async ({ name }, { hub, signal }) => {
    const term = terms.get(hub) ?? { name: `${identity}-${++count}`, objects: new Set() };
    terms.set(hub, term);
    // With a number: a write that changes nothing is not shown by a watch.
    const write = (options: { readonly signal?: AbortSignal } = {}) => {
      const annotations = { [termAnnotation]: `${term.name} ${++writes}` };
      return hub.resource(hubObjects).patch(name, { metadata: { annotations } }, options);
    };
    if (!term.objects.has(name)) {
      // It goes on for a while after the object has gone to another one: none of that may arrive.
      let refused = 0;
      const careless = setInterval(() => {
        write().catch(() => {
          refused += 1;
          if (refused === 10) clearInterval(careless);
        });
      }, periodMs);
    }
    term.objects.add(name);
    await write({ signal });
    return { requeueAfterMs: periodMs };
  },
});
subscribe('clusterprofile-credentials:fleet-shard', (event) => say({ ...Object(event) }));
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await fleet.run({ signal: stop.signal });
await providers.close();
// The careless loops.
process.exit(0);

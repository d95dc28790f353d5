/** Changes of ClusterProfiles on the hub, after a list that the caller has already. */
import { profileName } from '../access/resolve.ts';
import { systemClock } from '../fleet/clock.ts';
import { clusterProfileKind, type FleetProfile } from '../fleet/profile.ts';
import { Reflector } from '../fleet/reflect/reflector.ts';
import { ApiServer } from '../rest/api/api-server.ts';
import { Discovery } from '../rest/api/discovery.ts';
import { openHub } from './hub.ts';
import { homeOf, type Profile, readName, selectorsOf } from './profiles.ts';
import type { Call } from './verb.ts';

export interface ProfileChange {
  readonly profile: Profile;
  /** It was deleted: `profile` is its last state. */
  readonly isGone: boolean;
}

/** Runs until the call's signal aborts. Prints problems to stderr, and retries. */
export async function* watchProfiles(call: Call, known: readonly Profile[]): AsyncGenerator<ProfileChange, void> {
  const { signal, terminal, args } = call;
  const hub = await openHub(call);
  const home = await homeOf(call);
  const asked = args.map(readName).map(({ namespace = home, name }) => ({ namespace, name }));
  // Names may be in several namespaces.
  const namespace = asked.every((one) => one.namespace === home) ? home : undefined;
  const isAsked = ({ metadata }: Profile) =>
    asked.length === 0 ||
    asked.some(
      (one) => one.name === metadata?.name && (one.namespace === undefined || one.namespace === metadata.namespace),
    );
  const server = new ApiServer(hub.config);
  const say = (message: string) =>
    void terminal.say(`${terminal.paint('yellow', 'warning:', terminal.stderr)} ${message}`);
  const logger = { warn: (_fields: object, message: string) => say(message) };
  const context = {
    server,
    discovery: new Discovery(server, systemClock),
    clock: systemClock,
    logger,
    fields: {},
    random: Math.random,
  };
  const resource = {
    ...clusterProfileKind,
    ...(namespace === undefined ? {} : { namespace }),
    ...selectorsOf(call),
  };
  const last = new Map(known.map((profile) => [profileName(profile), profile]));
  let listed: Set<string> | undefined;
  for await (const events of new Reflector<FleetProfile>(resource, context).run(signal)) {
    for (const event of events) {
      if (event.type === 'Init') listed = new Set();
      else if (event.type === 'InitDone') {
        // What is missing from a new list was deleted while the watch was interrupted.
        for (const [name, profile] of last) {
          if (listed?.has(name)) continue;
          last.delete(name);
          yield { profile, isGone: true };
        }
        listed = undefined;
      } else if (isAsked(event.object)) {
        const name = profileName(event.object);
        listed?.add(name);
        const isGone = event.type === 'Delete';
        const before = last.get(name)?.metadata?.resourceVersion;
        if (isGone) last.delete(name);
        else last.set(name, event.object);
        if (isGone || before !== event.object.metadata.resourceVersion) yield { profile: event.object, isGone };
      }
    }
  }
}

/** The other replicas of a fleet, by their Leases: which of them live, and what they want. */
import type { Clock } from '../clock.ts';
import type { Lease } from '../lease/lease.ts';
import { LeaseView } from '../lease/lease-view.ts';
import type { Candidate } from './assignment.ts';
import { type PeerFacts, peerFacts, saysShards } from './names.ts';
import { believedMs } from './timing.ts';

interface Peer {
  readonly view: LeaseView;
  facts: PeerFacts;
  /** It was seen to change: it lives, or did a moment ago. */
  confirmed: boolean;
}

export class Peers {
  readonly #clock: Clock;
  readonly #durationMs: number;
  /** By the name of the Lease. */
  readonly #peers = new Map<string, Peer>();

  constructor(clock: Clock, durationMs: number) {
    this.#clock = clock;
    this.#durationMs = durationMs;
  }

  /** Returns whether that is news. */
  applied(lease: Lease): boolean {
    const { name } = lease.metadata;
    // Each replica writes that in its Lease. A Lease without it is not a replica's, or its replica will soon write it again.
    if (!saysShards(lease)) return false;
    const known = this.#peers.get(name);
    const peer = known ?? {
      view: new LeaseView(this.#clock, (saidMs) => believedMs(saidMs, this.#durationMs)),
      facts: peerFacts(lease),
      confirmed: false,
    };
    this.#peers.set(name, peer);
    if (!peer.view.observe(lease)) return false;
    peer.facts = peerFacts(lease);
    peer.confirmed = known !== undefined;
    return true;
  }

  deleted(lease: Lease): void {
    const peer = this.#peers.get(lease.metadata.name);
    if (peer?.view.observeDeleted(lease)) this.#peers.delete(lease.metadata.name);
  }

  /** Those that live, and want shards. */
  get candidates(): readonly Candidate[] {
    return this.#live.map(({ facts }) => facts).filter(({ weight }) => weight > 0);
  }

  /** How many live. */
  get size(): number {
    return this.#live.length;
  }

  /** The clock's uptime in which the next one is dead, unless it is heard of. */
  get nextExpiry(): number {
    return Math.min(...this.#live.map(({ view }) => view.expiresAt));
  }

  /** One that lives, and believes in another number of shards. `confirmed`: it was seen to live, and not only its Lease. */
  other(shards: number): (PeerFacts & { readonly confirmed: boolean }) | undefined {
    const others = this.#live.filter(({ facts }) => facts.shards !== shards);
    const [found] = others.toSorted((a, b) => Number(b.confirmed) - Number(a.confirmed));
    return found && { ...found.facts, confirmed: found.confirmed };
  }

  /** Replicas that lived at a moment get their whole time again: since then this process could not hear of them. */
  startAgain(lived: number): void {
    for (const peer of this.#peers.values()) {
      if (peer.view.expiresAt <= lived) continue;
      peer.view.startAgain();
      peer.confirmed = false;
    }
  }

  /** Leases of replicas that have been dead for `ms` milliseconds or longer. */
  deadFor(ms: number): readonly Lease[] {
    const now = this.#clock.uptime();
    return [...this.#peers.values()].flatMap(({ view }) =>
      view.lease && view.expiresAt + ms <= now ? [view.lease] : [],
    );
  }

  get #live(): readonly Peer[] {
    return [...this.#peers.values()].filter(({ view }) => view.isLive);
  }
}

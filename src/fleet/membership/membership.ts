/** Decides which profiles are in the fleet, and which of several profiles of one cluster is engaged. Knows nothing of how. */
import { askSafely } from '../../observability/callbacks.ts';
import { type FleetProfile, isByServer } from './identity.ts';
import type { Fence, Owner } from './ownership.ts';

/** Whether to engage the cluster of a profile, and if not, its state. */
export type Verdict =
  | {
      readonly engage: true;
      readonly key: string;
      /** What `Ownership` knows the cluster by. */
      readonly ownerKey: string;
      readonly fence: Fence | undefined;
      /** The clock's uptime before which another replica may still be letting the cluster go. */
      readonly notBefore: number | undefined;
    }
  | {
      readonly engage: false;
      readonly state: 'Duplicate' | 'NotOwned' | 'Backoff';
      readonly reason: string;
      readonly message: string;
      readonly owner?: string;
    };

interface MembershipRules {
  select(profile: FleetProfile): boolean;
  identify(profile: FleetProfile): string;
  /** Whether the providers of this process can use it. */
  resolves(profile: FleetProfile): boolean;
  ownerOf(key: string): Owner;
  /** Monotonic milliseconds. */
  uptime(): number;
}

/**
 * Milliseconds that a replica waits for the one that had a cluster under an older profile, which has gone: that one has to see it, and then
 * its reconciles get ten seconds.
 */
const movingMs = 30_000;

/** The oldest profile of a cluster. */
interface Oldest {
  readonly name: string;
  /** If it was another one before, of another replica: the uptime until which that one may let the cluster go. */
  readonly notBefore: number | undefined;
  /** When the last profile of the cluster went. A new one may come at once, under another name. */
  readonly goneAt?: number;
}

interface Entry {
  readonly profile: FleetProfile;
  /** The result of `identify`, or why there is none. */
  readonly key: { readonly value: string } | { readonly problem: string; readonly reason: string };
  /** Why it is not in the fleet. */
  readonly left: string | undefined;
}

export class Membership {
  readonly #rules: MembershipRules;
  readonly #entries = new Map<string, Entry>();
  /** The names of selected profiles, by key. */
  readonly #byKey = new Map<string, Set<string>>();
  readonly #oldest = new Map<string, Oldest>();
  #placed: ReadonlySet<string> | undefined;

  constructor(rules: MembershipRules) {
    this.#rules = rules;
  }

  /** Adds or replaces a profile. Returns the names whose verdict may have changed. */
  set(name: string, profile: FleetProfile): ReadonlySet<string> {
    const before = this.#entries.get(name);
    const affected = this.#forget(name);
    const entry = { profile, ...this.#judge(name, profile) };
    this.#entries.set(name, entry);
    if (entry.left === undefined && 'value' in entry.key) {
      const names = this.#byKey.get(entry.key.value) ?? new Set();
      this.#byKey.set(entry.key.value, names.add(name));
      this.#lookAtOldest(entry);
      for (const other of names) affected.add(other);
    }
    this.#lookAtOldest(before);
    return affected.add(name);
  }

  delete(name: string): ReadonlySet<string> {
    const before = this.#entries.get(name);
    const affected = this.#forget(name);
    this.#entries.delete(name);
    this.#lookAtOldest(before);
    return affected.add(name);
  }

  /** Limits the fleet to these profiles. */
  place(placed: ReadonlySet<string>): ReadonlySet<string> {
    const before = this.#placed;
    this.#placed = placed;
    const affected = new Set<string>();
    for (const [name, { profile }] of [...this.#entries]) {
      if (before?.has(name) === placed.has(name)) continue;
      for (const other of this.set(name, profile)) affected.add(other);
    }
    return affected;
  }

  /** The profiles of the clusters that `Ownership` knows by these keys. */
  namesOf(isMeant: (ownerKey: string) => boolean): readonly string[] {
    return [...this.#byKey].flatMap(([key, names]) => (isMeant(this.#oldest.get(key)?.name ?? '') ? [...names] : []));
  }

  sharing(key: string): Iterable<string> {
    return this.#byKey.get(key) ?? [];
  }

  profile(name: string): FleetProfile | undefined {
    return this.#entries.get(name)?.profile;
  }

  /** Why a profile is not in the fleet. */
  whyLeft(name: string): string | undefined {
    return this.#entries.get(name)?.left;
  }

  /** `undefined` for profiles that are not in the fleet. */
  verdict(name: string): Verdict | undefined {
    const entry = this.#entries.get(name);
    if (!entry || entry.left !== undefined) return undefined;
    if ('problem' in entry.key) {
      return { engage: false, state: 'Backoff', reason: entry.key.reason, message: entry.key.problem };
    }
    const key = entry.key.value;
    const names = this.#byKey.get(key) ?? new Set([name]);
    const { name: ownerKey, notBefore } = this.#oldest.get(key) ?? { name, notBefore: undefined };
    const first = this.#firstOf(names, (profile) => !this.#rules.resolves(profile));
    if (first !== name) {
      const [reason, message] = isByServer(key)
        ? [
            'SAME_SERVER',
            `${first} has the same server and is engaged: give them IDs, or set identify, if they are two`,
          ]
        : ['SAME_CLUSTER', `${first} is the same cluster (${key}), and is engaged`];
      return { engage: false, state: 'Duplicate', reason, message };
    }
    const owner = this.#rules.ownerOf(ownerKey);
    if (owner.mine) return { engage: true, key, ownerKey, fence: owner.fence, notBefore };
    const { mine: _, ...why } = owner;
    return { engage: false, state: 'NotOwned', ...why };
  }

  /** Of several profiles of one cluster: one that can be used, then the oldest. A new profile displaces none. */
  #firstOf(names: ReadonlySet<string>, isLast: (profile: FleetProfile) => boolean): string | undefined {
    if (names.size <= 1) return [...names][0];
    const ranked = [...names].map((name) => {
      const profile = this.#entries.get(name)?.profile;
      return { name, rank: `${profile && isLast(profile)} ${profile?.metadata.creationTimestamp ?? ''} ${name}` };
    });
    return ranked.toSorted((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.name;
  }

  /**
   * Replicas share clusters by the oldest profile: it is the same for all of them, whatever their providers are, and stays so when an ID or an
   * address changes.
   */
  #lookAtOldest(entry: Entry | undefined): void {
    if (!entry || !('value' in entry.key)) return;
    const key = entry.key.value;
    const name = this.#firstOf(this.#byKey.get(key) ?? new Set(), () => false);
    const known = this.#oldest.get(key);
    const before = known && this.#isForgotten(known) ? undefined : known;
    if (name === undefined) {
      for (const [other, oldest] of this.#oldest) if (this.#isForgotten(oldest)) this.#oldest.delete(other);
      if (before) this.#oldest.set(key, { goneAt: this.#rules.uptime(), ...before });
    } else if (name !== before?.name) {
      const isOthers = before && !this.#rules.ownerOf(before.name).mine;
      const notBefore = isOthers ? (before.goneAt ?? this.#rules.uptime()) + movingMs : before?.notBefore;
      this.#oldest.set(key, { name, notBefore });
    } else if (before.goneAt !== undefined) this.#oldest.set(key, { name, notBefore: before.notBefore });
  }

  /** After that time no replica works on it. */
  #isForgotten({ goneAt = Number.POSITIVE_INFINITY }: Oldest): boolean {
    return goneAt <= this.#rules.uptime() - movingMs;
  }

  /** Removes a name from its group. Returns the other names of that group. */
  #forget(name: string): Set<string> {
    const entry = this.#entries.get(name);
    if (!entry || !('value' in entry.key)) return new Set();
    const names = this.#byKey.get(entry.key.value);
    names?.delete(name);
    if (names?.size === 0) this.#byKey.delete(entry.key.value);
    return new Set(names);
  }

  #judge(name: string, profile: FleetProfile): Pick<Entry, 'key' | 'left'> {
    const notPlaced = this.#placed?.has(name) === false ? 'no PlacementDecision names it' : undefined;
    const selected = askSafely(() => this.#rules.select(profile), Boolean);
    if ('problem' in selected) {
      const key = { problem: `select failed: ${selected.problem}`, reason: 'SELECT/HANDLER_FAILED' };
      return { key, left: notPlaced };
    }
    return { key: this.#keyOf(profile), left: selected.value ? notPlaced : 'select leaves it out' };
  }

  #keyOf(profile: FleetProfile): Entry['key'] {
    const key = askSafely(
      () => this.#rules.identify(profile),
      (value) => {
        if (typeof value === 'string' && value !== '') return value;
        throw new TypeError(`it returned ${String(value)}: it must be text`);
      },
    );
    return 'value' in key ? key : { problem: `identify failed: ${key.problem}`, reason: 'IDENTIFY/HANDLER_FAILED' };
  }
}

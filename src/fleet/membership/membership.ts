/** Decides which profiles are in the fleet, and which of several profiles of one cluster is engaged. Knows nothing of how. */
import { askSafely } from '../../observability/callbacks.ts';
import type { FleetProfile } from '../profile.ts';
import type { Fence, Owner } from './ownership.ts';

/** Whether to engage the cluster of a profile, and if not, its state. */
export type Verdict =
  | { readonly engage: true; readonly key: string; readonly fence?: Fence }
  | {
      readonly engage: false;
      readonly state: 'Duplicate' | 'NotOwned' | 'Backoff';
      readonly reason: string;
      readonly message: string;
      readonly owner?: string;
    };

export interface MembershipRules {
  select(profile: FleetProfile): boolean;
  identify(profile: FleetProfile): string;
  ownerOf(key: string): Owner;
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
  #placed: ReadonlySet<string> | undefined;

  constructor(rules: MembershipRules) {
    this.#rules = rules;
  }

  /** Adds or replaces a profile. Returns the names whose verdict may have changed. */
  set(name: string, profile: FleetProfile): ReadonlySet<string> {
    const affected = this.#forget(name);
    const entry = { profile, ...this.#judge(name, profile) };
    this.#entries.set(name, entry);
    if (entry.left === undefined && 'value' in entry.key) {
      const names = this.#byKey.get(entry.key.value) ?? new Set();
      this.#byKey.set(entry.key.value, names.add(name));
      for (const other of names) affected.add(other);
    }
    return affected.add(name);
  }

  /** Deletes a profile. */
  delete(name: string): ReadonlySet<string> {
    const affected = this.#forget(name);
    this.#entries.delete(name);
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

  /** The profiles of the clusters with these keys. */
  namesOf(isMeant: (key: string) => boolean): readonly string[] {
    return [...this.#byKey].flatMap(([key, names]) => (isMeant(key) ? [...names] : []));
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
    const first = firstOf(this.#byKey.get(key) ?? [name]);
    if (first !== name) {
      return {
        engage: false,
        state: 'Duplicate',
        reason: 'SAME_CLUSTER',
        message: `${first} is the same cluster (${key})`,
      };
    }
    const owner = this.#rules.ownerOf(key);
    if (owner.mine) return { engage: true, key, ...(owner.fence ? { fence: owner.fence } : {}) };
    const { mine: _, ...why } = owner;
    return { engage: false, state: 'NotOwned', ...why };
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
    const selected = askSafely(() => this.#rules.select(profile), Boolean);
    if ('problem' in selected) {
      const key = { problem: `select failed: ${selected.problem}`, reason: 'SELECT/HANDLER_FAILED' };
      return { key, left: this.#whyNotPlaced(name) };
    }
    const left = selected.value ? this.#whyNotPlaced(name) : 'select leaves it out';
    return { key: this.#keyOf(profile), left };
  }

  #whyNotPlaced(name: string): string | undefined {
    return this.#placed && !this.#placed.has(name) ? 'no PlacementDecision names it' : undefined;
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

function firstOf(names: Iterable<string>): string | undefined {
  let first: string | undefined;
  for (const name of names) if (first === undefined || name < first) first = name;
  return first;
}

/** What a server has made of a request, which says whether it may come again. */
export type Deed = 'taken' | 'not looked at' | 'credential refused';

export interface Arrival {
  deed: Deed;
}

/** How often one request may arrive in all. */
const most = 11;

/** Every request that a server has seen, by the id in its path. */
export class Arrivals {
  readonly #seen = new Map<string, Arrival[]>();
  /** What came and should not have come. */
  readonly faults: string[] = [];
  count = 0;

  /** A request has arrived. It counts as taken until the server says that it has not looked at it. */
  add(method: string, path: string): Arrival & { readonly id: string; readonly times: number } {
    const id = /[?&]id=([^&]+)/.exec(path)?.[1] ?? path;
    const before = this.#seen.get(id) ?? [];
    this.count += 1;
    const taken = before.find(({ deed }) => deed === 'taken');
    if (taken && method !== 'GET') this.faults.push(`${method} ${id} was sent again after a server had taken it`);
    if (before.length >= most && id !== path) this.faults.push(`${method} ${id} was sent ${before.length + 1} times`);
    const arrival = { deed: 'taken' as Deed, id, times: before.length };
    before.push(arrival);
    this.#seen.set(id, before);
    return arrival;
  }
}

/** How much a list may bring before it has ended: one without an end is a problem of its cluster, and must not end the process. */
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { FleetError } from '../../errors/index.ts';

/** V8 counts the young generation into its limit, up to this many bytes. */
const youngBytes = 192 * 1024 * 1024;
const { heap_size_limit: wholeLimit } = getHeapStatistics();
/** Bytes of objects that have outlived the young generation: with more of them the process ends. */
const heapLimit = Math.max(wholeLimit - youngBytes, wholeLimit / 2);
/** The heap is short of memory from this part on. Below it a list may be of any size. */
const fullPart = 0.6;
/** The heap is looked at after each of so many bytes of a list. */
const lookBytes = 1024 * 1024;
/** A list that was ended leaves garbage, which counts until it is collected. So many bytes of lists come before the next one ends. */
const pauseBytes = heapLimit / 256;

/** The lists under way that may be ended for want of memory. */
const underWay = new Set<ListSize>();
let bytesSinceEnd = Number.POSITIVE_INFINITY;

/** How full the heap is, from 0 to 1. */
function heapUse(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
  return spaces.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0) / heapLimit;
}

/** The size of a list under way. */
export class ListSize {
  readonly #maxObjects: number;
  readonly #maxBytes: number | undefined;
  readonly #heapUse: () => number;
  #objects = 0;
  #bytes = 0;
  #lookAt = lookBytes;

  constructor(
    { maxObjects = Number.POSITIVE_INFINITY, maxBytes }: { readonly maxObjects?: number; readonly maxBytes?: number },
    use = heapUse,
  ) {
    this.#maxObjects = maxObjects;
    this.#maxBytes = maxBytes;
    this.#heapUse = use;
    if (maxBytes === undefined) underWay.add(this);
  }

  /** @throws {FleetError} `LIST_TOO_LARGE` */
  add(objects: number, bytes: number): void {
    this.#objects += objects;
    this.#bytes += bytes;
    bytesSinceEnd += bytes;
    if (this.#objects > this.#maxObjects) throw this.#tooLarge(`maxObjects is ${this.#maxObjects}`);
    if (this.#maxBytes !== undefined) {
      if (this.#bytes > this.#maxBytes) throw this.#tooLarge(`maxBytes is ${this.#maxBytes}`);
      return;
    }
    if (this.#bytes < this.#lookAt) return;
    this.#lookAt = this.#bytes + lookBytes;
    if (bytesSinceEnd < pauseBytes || !this.#isLargest || this.#heapUse() < fullPart) return;
    bytesSinceEnd = 0;
    throw this.#tooLarge('the memory of this process is nearly used up, and no other list is larger');
  }

  /** The list has ended, or has failed. */
  end(): void {
    underWay.delete(this);
  }

  get #isLargest(): boolean {
    for (const other of underWay) if (other.#bytes > this.#bytes) return false;
    return true;
  }

  #tooLarge(limit: string): FleetError {
    const size = `${this.#objects} objects, ${Math.ceil(this.#bytes / 1_000_000)} MB`;
    const advice =
      'ask for fewer with namespace, labelSelector or fieldSelector, set maxObjects and maxBytes, or give Node more memory (--max-old-space-size)';
    return new FleetError('LIST_TOO_LARGE', `the list has not ended after ${size}, and ${limit}: ${advice}`);
  }
}

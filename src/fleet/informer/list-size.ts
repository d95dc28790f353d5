/** How much a list may bring before it has ended: one without an end is a problem of its cluster, and must not end the process. */
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { FleetError } from '../../errors/index.ts';
import type { InformerOptions } from './options.ts';

const mebibyte = 1024 * 1024;

/**
 * Bytes of objects that may outlive the young generation: with more of them the process ends. V8 counts the young generation, three
 * semi-spaces, into its own limit. `options` are Node's.
 */
export function heapLimitOf(wholeLimit: number, options: string): number {
  const [, semiSpace] = /--max[-_]semi[-_]space[-_]size[= ](\d+)/.exec(options) ?? [];
  return Math.max(wholeLimit - 3 * (Number(semiSpace) || 64) * mebibyte, wholeLimit / 2);
}

const heapLimit = heapLimitOf(
  getHeapStatistics().heap_size_limit,
  [process.env.NODE_OPTIONS, ...process.execArgv].join(' '),
);
/** The heap is short of memory from this part on. Below it a list may be of any size. */
const fullPart = 0.6;
/** The heap is measured each time this many bytes of a list have arrived. */
const lookBytes = mebibyte;
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

export class ListSize {
  readonly #maxObjects: number;
  readonly #maxBytes: number | undefined;
  readonly #heapUse: () => number;
  #objects = 0;
  #bytes = 0;
  #lookAt = lookBytes;

  constructor(
    { maxObjects = Number.POSITIVE_INFINITY, maxBytes }: Pick<InformerOptions, 'maxObjects' | 'maxBytes'>,
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

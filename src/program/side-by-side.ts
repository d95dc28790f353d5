/** Works on many clusters concurrently, up to a limit. */

/**
 * Calls `work` for each item, up to a limit at once, and yields the results in the order of the items as they come. After the signal
 * has aborted, no new work starts, and running work is awaited.
 */
export async function* sideBySide<T, R>(
  items: readonly T[],
  atOnce: number,
  signal: AbortSignal,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  const results = new Map<number, Promise<R>>();
  let next = 0;
  const begin = () => {
    if (signal.aborted || next >= items.length) return;
    const index = next++;
    const item = items[index] as T; // `index` is below the length
    const result = work(item);
    results.set(index, result);
    result.then(begin, begin);
  };
  for (let count = 0; count < atOnce; count++) begin();
  for (let index = 0; index < items.length; index++) {
    const result = results.get(index);
    // All before it have ended, so it has begun, or the signal has aborted.
    if (!result) return;
    results.delete(index);
    yield await result;
  }
}

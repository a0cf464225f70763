/** Resolves when everything that has arrived was given to its readers. */
const nothingMore = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/**
 * Puts together what has arrived: a batch ends when there is nothing more to read at the moment, or when it is full.
 *
 * The count of pending messages, which a consumer sends with each, does not show the end: with nats-server 2.9.10 it stays
 * too high if messages are replaced while the consumer is created (seen with 1,317 of 2,871 consumers of a bucket that
 * had two writers).
 *
 * @param items Its owner ends it. A reader that leaves early does not.
 * @param max Items of a full batch.
 */
export async function* inBatches<T>(items: AsyncIterable<T>, max: number): AsyncGenerator<T[]> {
  const iterator = items[Symbol.asyncIterator]()
  let next = iterator.next()
  for (let result = await next; !result.done; result = await next) {
    const batch: T[] = []
    let found: IteratorResult<T> | undefined = result
    while (found && !found.done) {
      batch.push(found.value)
      next = iterator.next()
      // An error comes after the batch.
      const arrived = next.catch(() => undefined)
      found =
        batch.length < max
          ? ((await Promise.race([arrived, nothingMore()])) ?? undefined)
          : undefined
    }
    yield batch
  }
}

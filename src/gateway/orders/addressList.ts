import { answer, JSON_HEADERS } from '../http/answers.ts'
import { MAX_PAGE, type Orders, type Page } from './orders.ts'
import type { TimeRange } from './timeRange.ts'

/** How long a list may take, ms: a reader who takes a little now and then keeps its permit. */
export const MAX_LIST_MS = 5 * 60_000

/**
 * Answers the unsubscribed addresses of a range as a list of JSON. A page is read when the one before has been taken,
 * so a slow reader keeps only one in memory. A list that can not be completed breaks off, so that nobody takes it for
 * the whole. Rejects with Unavailable if the first page can not be read.
 *
 * @param onEnd Called when the list is sent or given up, also if this rejects, perhaps twice.
 */
export async function answerAddresses(
  orders: Pick<Orders, 'unsubscribed'>,
  customer: string,
  range: TimeRange,
  onEnd: () => void,
): Promise<Response> {
  const until = performance.now() + MAX_LIST_MS
  const read = (after?: Page['next']): Promise<Page> =>
    orders.unsubscribed(customer, { ...range, max: MAX_PAGE, ...(after && { after }) })

  async function* write({ addresses, next }: Page): AsyncGenerator<string> {
    yield `[${toText(addresses)}`
    let isEmpty = addresses.length === 0
    for (let after = next; after; ) {
      if (performance.now() > until) throw new Error('The list of addresses took too long')
      const page = await read(after)
      after = page.next
      if (page.addresses.length === 0) continue
      yield `${isEmpty ? '' : ','}${toText(page.addresses)}`
      isEmpty = false
    }
    yield ']'
  }

  try {
    const first = await read()
    if (first.next) return new Response(toStream(write(first), onEnd), { headers: JSON_HEADERS })
    onEnd()
    return answer(200, first.addresses)
  } catch (error) {
    onEnd()
    throw error
  }
}

const toText = (addresses: readonly string[]): string =>
  addresses.map((address) => JSON.stringify(address)).join()

/** @param onEnd Called once the texts have ended, or the reader is gone. */
function toStream(texts: AsyncGenerator<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await texts.next()
          if (!done) return controller.enqueue(Buffer.from(value))
          onEnd()
          controller.close()
        } catch (error) {
          onEnd()
          controller.error(error)
        }
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  )
}

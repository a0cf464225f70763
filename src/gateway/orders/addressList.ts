import { answer, JSON_HEADERS } from '../http/answers.ts'
import { type PartStreamOptions, streamParts } from '../http/partStream.ts'
import { MAX_PAGE, type Orders, type Page } from './orders.ts'
import type { TimeRange } from './timeRange.ts'

/** How long a list may take, ms. Without it, a slow reader could keep its permit for ever. */
export const MAX_LIST_MS = 5 * 60_000

/**
 * Answers the unsubscribed addresses of a range as a list of JSON, a page at a time: see `streamParts`. Rejects with
 * Unavailable if the first page can not be read; then `onEnd` is called too.
 */
export async function answerAddresses(
  orders: Pick<Orders, 'unsubscribed'>,
  customer: string,
  range: TimeRange,
  { onEnd, breakOff }: Pick<PartStreamOptions, 'onEnd' | 'breakOff'>,
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
    if (!first.next) {
      onEnd()
      return answer(200, first.addresses)
    }
    const texts = write(first)
    const next = async () => {
      const { done, value } = await texts.next()
      return done ? undefined : Buffer.from(value)
    }
    return new Response(streamParts({ next, onEnd, breakOff }), { headers: JSON_HEADERS })
  } catch (error) {
    onEnd()
    throw error
  }
}

const toText = (addresses: readonly string[]): string =>
  addresses.map((address) => JSON.stringify(address)).join()

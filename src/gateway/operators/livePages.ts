import { type EventLog, weigh } from '../collect/eventLog.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { toMessage } from './liveMessage.ts'

/** Events of one customer as server-sent messages, in order of arrival. */
export type LivePage = {
  /** The messages, UTF-8. Empty if there are no more events for now. */
  readonly bytes: Uint8Array
  /** Position of its last event. If the page is empty, the position of the call. */
  readonly last: number
  /** Whether it ended at a limit, so that there may be more events. */
  readonly isFull: boolean
}

/** Reads the log for live views. */
export type LivePages = {
  /**
   * The position after which a view begins: that of the last event that the browser has, otherwise the one before the
   * newest 200. A browser that has missed more than 20,000 events begins like a new view.
   *
   * @param lastEventId Undefined for none.
   */
  findStart(customer: string, lastEventId: number | undefined): Promise<number>
  read(customer: string, after: number): Promise<LivePage>
  /** Drops the cached page of a customer whose last view has closed. */
  forget(customer: string): void
}

/** Events that a new view begins with. */
const FIRST_EVENTS = 200
/**
 * Events that a view catches up on at most. More are of no use, as a page keeps 5,000, and a tab that was hidden for a
 * night would read all of that night.
 */
export const MAX_MISSED = 20_000
/** A page ends with the event that reaches either limit. */
const PAGE_EVENTS = 200
const PAGE_BYTES = 65_536

type KeptPage = LivePage & {
  readonly after: number
  /** Where in the bytes each event ends. */
  readonly ends: readonly { readonly seq: number; readonly end: number }[]
}

/**
 * Reads for all live views: one page at a time, the customers in turn, and a pause after each that is as long as the
 * read was. So an append waits for one page at most, and the views use at most half of the time of the log's thread,
 * however many are open. The views of a customer share the page that was read last: a view whose position is in it gets
 * the rest of it without a read.
 */
export function createLivePages(log: EventLog): LivePages {
  const reads = createSemaphore({ permits: 1, message: 'Too many reads' })
  /** The page that was read last, by customer. */
  const kept = new Map<string, KeptPage>()

  function findKept(customer: string, after: number): LivePage | undefined {
    const page = kept.get(customer)
    if (!page || after < page.after || after >= page.last) return undefined
    const next = page.ends.findIndex(({ seq }) => seq > after)
    const start = page.ends[next - 1]?.end ?? 0
    return { bytes: page.bytes.subarray(start), last: page.last, isFull: page.isFull }
  }

  async function readLog(customer: string, after: number): Promise<LivePage> {
    const records = await log.read({
      customer,
      after,
      max: PAGE_EVENTS,
      maxBytes: PAGE_BYTES,
    })
    let text = ''
    let end = 0
    const ends = records.map((record) => {
      const message = toMessage(record)
      text += message
      end += Buffer.byteLength(message)
      return { seq: record.seq, end }
    })
    const page = {
      bytes: Buffer.from(text),
      last: records.at(-1)?.seq ?? after,
      isFull:
        records.length === PAGE_EVENTS ||
        records.reduce((sum, record) => sum + weigh(record), 0) >= PAGE_BYTES,
    }
    if (records.length > 0) kept.set(customer, { ...page, after, ends })
    return page
  }

  async function thenPause<T>(release: () => void, read: () => Promise<T>): Promise<T> {
    const began = performance.now()
    try {
      return await read()
    } finally {
      setTimeout(release, performance.now() - began)
    }
  }

  const findTail = async (customer: string, max: number) =>
    thenPause(await reads.acquire(customer), () => log.findTail(customer, max))

  return {
    async findStart(customer, lastEventId) {
      const { after, newest } = await findTail(customer, FIRST_EVENTS)
      // A position after the end of the log comes from another log: the data was replaced.
      if (lastEventId === undefined || lastEventId > newest) return after
      if (lastEventId >= after) return lastEventId
      const oldest = await findTail(customer, MAX_MISSED)
      return lastEventId >= oldest.after ? lastEventId : after
    },
    async read(customer, after) {
      const found = findKept(customer, after)
      if (found) return found
      const release = await reads.acquire(customer)
      // Another view may have read the same page meanwhile.
      const foundNow = findKept(customer, after)
      if (!foundNow) return thenPause(release, () => readLog(customer, after))
      release()
      return foundNow
    },
    forget: (customer) => void kept.delete(customer),
  }
}

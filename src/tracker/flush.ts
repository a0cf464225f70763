import { MAX_KEEPALIVE_BYTES } from '../contract/delivery.ts'
import { MAX_AGE_DAYS } from '../contract/settings.ts'
import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import type { Kind, Notice, Notices } from './notices.ts'
import { type Entry, idOf, type Outbox } from './outbox.ts'
import type { Send } from './transport.ts'

/*
 * Decides when events are sent.
 *
 * The fresh events of one task are sent in one request, before the browser continues with the next task. So they are
 * sent even if the page navigates in the same task. This needs no lock, since waiting for one could take too long. At
 * most two such requests are open; events that are tracked meanwhile wait for the next.
 *
 * Events that are sent again (those of an earlier page, and those of failed requests) need the tab lock, so that an
 * origin has one such request at a time. If the gateway may already have them, a small request asks first.
 *
 * After a failure nothing is sent until the backoff is over, except once when the page is left.
 */

/** A task is considered over after this many microtasks without an event. An `await` between two calls takes up to 3. */
const QUIET_MICROTASKS = 10
/** The most requests with fresh events that are open at once. */
const MAX_REQUESTS = 2
/** The time in which the answer to another page's request is still expected. */
const HAND_OFF_MS = 4000
/** The first and the longest wait after failures. Each is shortened at random by up to a half. */
const RETRY_BASE_MS = 2000
const RETRY_MAX_MS = 120_000
/** When the page is left, events of a request that failed this recently are not sent again. */
const JUST_NOW_MS = 1000
/** flush() resolves after this time at the latest. */
const MAX_FLUSH_MS = 34_000
const DAY_MS = 86_400_000
/** An event that seems older than this comes from a wrong clock. It is not dropped. */
const BROKEN_DAYS = 400
/** Bytes of an event in a batch besides its payload: its id, `at` and the names of the fields. */
const ENVELOPE_BYTES = 100
/** Bytes reserved for an event in a question. A batch may have 60,000, so one asks about 500 events at most. */
const ASK_BYTES = 120

/** Numbers of events. */
type FlushResult = {
  readonly delivered: number
  readonly kept: number
  readonly dropped: number
}

export type Flush = {
  /** Above 0 while the page's own storage or fetch may be called. Events tracked there are not accepted. */
  busy: number
  /** To be called when an event was added to the outbox. */
  fresh(): void
  /** Starts sending, or continues after `online` or a return from the back/forward cache. */
  resume(): unknown
  /**
   * To be called when the page is left or hidden. Ignores the backoff: sends the events that were not sent yet, and
   * once more those that failed a while ago. Events tracked while the page unloads are sent at once.
   */
  leave(): void
  /** Sends everything now, and ignores the backoff. */
  all(): Promise<FlushResult>
}

/**
 * @param configs The configuration of each key on this page. Keys may join later.
 * @param withTabLock Runs a function unless another page holds the lock. Resolves with whether it was run.
 */
export function createFlush(
  outbox: Outbox,
  send: Send,
  configs: ReadonlyMap<string, Config>,
  notices: Notices,
  withTabLock: (run: () => Promise<unknown>) => Promise<boolean>,
): Flush {
  const requests = new Set<Promise<unknown>>()
  /**
   * The last request of each entry, by its name: Infinity while it is open, else when it failed, ms since 1970.
   * Negative if the gateway does not have the event, so that it can be sent without asking.
   */
  const tried = new Map<string, number>()
  const settled = { delivered: 0, dropped: 0 }
  /** The most bytes of a batch, and the bytes that are left for keepalive requests. */
  let most = MAX_KEEPALIVE_BYTES
  let room = MAX_KEEPALIVE_BYTES
  /** Number of failures in a row. If there was one, nothing is sent while the timer runs. */
  let failures = 0
  let timer = 0
  /** End of the longest Retry-After, by performance.now. A success does not shorten it. */
  let notBefore = 0
  let leaving = false
  /** Microtasks until the current task counts as over, 0 if no event waits for that. */
  let quiet = 0
  /** The last request for the tab lock. */
  let locked: Promise<boolean> | undefined

  const isWaiting = () => timer && (failures || notBefore > performance.now())

  const wait = (ms: number) => {
    clearTimeout(timer)
    timer = setTimeout(
      () => {
        timer = 0
        next()
      },
      Math.max(ms, notBefore - performance.now()),
    )
  }

  const notify = (kind: Kind, { name, key, about }: Entry, why?: Notice) =>
    notices.emit(kind, { id: idOf(name), key, ...about, ...why })

  const settle = (kind: 'delivered' | 'dropped', entry: Entry, why?: Notice) => {
    settled[kind]++
    failures = 0
    tried.delete(entry.name)
    outbox.remove(entry.name)
    notify(kind, entry, why)
  }

  const triedAt = ({ name }: Entry) => tried.get(name) ?? 0

  /**
   * Sends a request with as many of the entries as fit, all of the first one's key. Entries without a verdict are sent
   * again after the backoff.
   *
   * @param isFresh Whether these entries are sent for the first time. Then the request is made with `keepalive`, so
   * that it outlives the page, if there is room. Otherwise the gateway may have the events, so it is asked first.
   * @returns Whether every entry has a verdict. Undefined if no request was made: there are no entries, or there is
   * no room while other requests are open.
   */
  const deliver = (entries: readonly Entry[], isFresh: boolean): Promise<boolean> | undefined => {
    const [first] = entries as [Entry | undefined]
    const config = configs.get(first?.key as string)
    if (!config) return
    const isMissing = triedAt(first as Entry) < 0
    const asks = !(isFresh || isMissing || config.anyOk || !config.batch)
    let bytes = 0
    const group = entries.filter((entry) => {
      const size = asks ? ASK_BYTES : new TextEncoder().encode(entry.body).length + ENVELOPE_BYTES
      if (
        bytes &&
        (entry.key !== config.key ||
          !config.batch ||
          triedAt(entry) < 0 !== isMissing ||
          bytes + size > most ||
          (isFresh && bytes + size > room))
      )
        return false
      bytes += size
      return true
    })
    const reserved = isFresh && bytes <= room ? bytes : 0
    if (!reserved && isFresh && (leaving || requests.size)) return

    room -= reserved
    for (const entry of group) {
      tried.set(entry.name, Infinity)
      if (!asks) notify('sent', entry)
    }
    flush.busy++
    const request = send(config, group, !!reserved, asks).then(([status, afterMs, verdicts]) => {
      requests.delete(request)
      room += reserved
      const held = group.filter((entry) => {
        const verdict = verdicts.find(({ id }) => id === idOf(entry.name))
        if (!verdict) {
          tried.set(entry.name, !asks && /^[34]/.test(status as never) ? -now() : now())
          notify('held', entry, { status })
        } else if (verdict.status < (asks ? 207 : 300)) settle('delivered', entry)
        else if (asks) tried.set(entry.name, -1)
        else settle('dropped', entry, { reason: 'refused', ...verdict })
        return !verdict
      })
      if (held[0]) {
        if (config.served && !config.anyOk && /^3/.test(status as never))
          config.base = config.served
        // The batch is too large, or one of its events can not be read. Smaller ones find out which.
        if (group[1] && /^4(00|13|22)/.test(status as never)) most = bytes / 2
        notBefore = Math.max(notBefore, performance.now() + afterMs)
        wait(Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** failures++) * (1 - Math.random() / 2))
      }
      return !held[0]
    })
    flush.busy--
    requests.add(request)
    return request
  }

  /** Sends fresh events. When the page is left, in any number of requests. */
  const pump = () => {
    while (
      (leaving || requests.size < MAX_REQUESTS) &&
      deliver(
        outbox
          .own()
          .filter((entry) => !triedAt(entry) || (leaving && now() - triedAt(entry) > JUST_NOW_MS)),
        true,
      )?.then(next)
    );
  }

  /**
   * The events to send again: those of failed requests, and those of other pages whose requests are over. The event
   * that failed last comes last, so that an event that always fails does not block the others.
   */
  const leftovers = () =>
    outbox
      .all()
      .filter((entry) => {
        const config = configs.get(entry.key)
        if (!config || triedAt(entry) === Infinity) return false
        const age = now() - entry.at
        return age / DAY_MS > +(config.maxAgeDays ?? MAX_AGE_DAYS) && age / DAY_MS < BROKEN_DAYS
          ? settle('dropped', entry, { reason: 'too_old' })
          : triedAt(entry) || age > HAND_OFF_MS || age < 0 || wait(HAND_OFF_MS)
      })
      .sort((a, b) => triedAt(a) ** 2 - triedAt(b) ** 2)

  const drain = async () => {
    while (!isWaiting() && (await deliver(leftovers(), false)));
  }

  /** Sends fresh events first. Sends events again only when no request is open. */
  const next = async () => {
    if (isWaiting()) return
    pump()
    if (requests.size || !leftovers()[0]) return
    locked = withTabLock(drain)
    if (!(await locked) && !isWaiting()) wait(HAND_OFF_MS * (1 + Math.random()))
  }

  const fresh = async () => {
    if (leaving) return pump()
    const isRunning = quiet
    quiet = QUIET_MICROTASKS
    if (isRunning) return
    while (--quiet) await 0
    next()
  }

  const resume = () => {
    leaving = false
    failures = 0
    fresh()
  }

  const flush: Flush = {
    busy: 0,
    fresh,
    resume,
    leave() {
      leaving = true
      pump()
      // If the page was only hidden, its tasks continue.
      setTimeout(() => (leaving = false))
    },
    async all() {
      resume()
      const { delivered, dropped } = settled
      const work = async () => {
        while (quiet || requests.size) await Promise.all(requests)
        await locked
      }
      await new Promise<void>((resolve) => {
        setTimeout(resolve, MAX_FLUSH_MS)
        work().then(resolve)
      })
      return {
        delivered: settled.delivered - delivered,
        dropped: settled.dropped - dropped,
        kept: outbox.all().filter((entry) => configs.has(entry.key)).length,
      }
    },
  }
  return flush
}

import { MAX_KEEPALIVE_BYTES } from '../contract/delivery.ts'
import { MAX_AGE_DAYS } from '../contract/settings.ts'
import type { Config } from './config.ts'
import { now } from './lib/now.ts'
import type { Kind, Notice, Notices } from './notices.ts'
import { type Entry, idOf, type Outbox } from './outbox.ts'
import type { Send } from './transport.ts'

/**
 * When events are sent.
 *
 * The fresh events of one task leave together, in one request that is made before the browser goes on to
 * the next task: so it leaves when the page navigates in the same task. It is made outside any lock, since
 * a request made inside a lock would be too late. Two such requests may be open; the events of meanwhile
 * are gathered. What is sent again (an earlier page's events, failed attempts) waits for its turn: one
 * request at a time an origin. Where the gateway may have it already, a small request asks first.
 *
 * After a failure nothing leaves until the backoff is over, save once when the page is left.
 */

/**
 * A task is over after so many microtasks without an event. One is too few: every `await` between two calls
 * takes up to three.
 */
const QUIET_MICROTASKS = 10
/** Requests with fresh events on their way at once. */
const MAX_REQUESTS = 2
/** What another page has handed over is left to its answer for so long, ms. */
const HAND_OFF_MS = 4000
/** First and longest wait after failures, ms; each is shortened at random by up to a half. */
const RETRY_BASE_MS = 2000
const RETRY_MAX_MS = 120_000
/** What failed no longer ago is not tried again when the page is left, ms. */
const JUST_NOW_MS = 1000
/** flush() answers after this at the latest, ms. */
const MAX_FLUSH_MS = 34_000
const DAY_MS = 86_400_000
/** An age above this is no age but a clock that was wrong and was set right, days. */
const BROKEN_DAYS = 400
/** What an event costs in a batch beside its payload, bytes: its id, `at` and the names. */
const ENVELOPE_BYTES = 100
/** What a question is counted as, bytes: a batch may have 60,000, so one asks about 500 events at most. */
const ASK_BYTES = 120

/** What became of the outbox in one flush: numbers of events. */
export type FlushResult = {
  readonly delivered: number
  readonly kept: number
  readonly dropped: number
}

export type Flush = {
  /**
   * Above 0 while code of the page's own may run inside ours (its storage, its fetch): what that tracks would
   * go round for ever.
   */
  busy: number
  /** There is an event in the outbox that was just accepted. */
  fresh(): void
  /** Sends what earlier pages left; and after `online`, or a return from the back/forward cache. */
  resume(): unknown
  /**
   * The page is left, or only hidden: sends what never left, whatever the backoff, and once more what
   * failed a while ago. What is tracked while the page unloads goes at once too.
   */
  leave(): void
  /** Tries everything now, whatever the backoff. */
  all(): Promise<FlushResult>
}

/**
 * @param configs The configuration of each key on this page; one may join later.
 * @param withTabLock Runs when no other page of the origin is at it; `false` where it is not its turn.
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
   * Attempts, by entry name: Infinity while a request has no answer yet, else when the last one failed, ms
   * since 1970. Negative: the gateway is known not to have the event, so it is sent without asking.
   */
  const tried = new Map<string, number>()
  const settled = { delivered: 0, dropped: 0 }
  /** Bytes that a batch may have, and that requests with keepalive may have on their way besides. */
  let most = MAX_KEEPALIVE_BYTES
  let room = MAX_KEEPALIVE_BYTES
  /** Attempts failed in a row: while a timer runs after one, nothing leaves. */
  let failures = 0
  let timer = 0
  /** Until then the gateway has asked to wait, by performance.now: nothing shortens it, no success either. */
  let notBefore = 0
  let leaving = false
  /** Microtasks until the current task counts as over; 0: no event waits for that. */
  let quiet = 0
  /** The last turn at sending again. */
  let turn: Promise<boolean> | undefined

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

  const tell = (kind: Kind, { name, key }: Entry, why?: Notice) =>
    notices.tell(kind, { id: idOf(name), key, ...why })

  const settle = (kind: 'delivered' | 'dropped', entry: Entry, why?: Notice) => {
    settled[kind]++
    failures = 0
    tried.delete(entry.name)
    outbox.remove(entry.name)
    tell(kind, entry, why)
  }

  const triedAt = ({ name }: Entry) => tried.get(name) ?? 0

  /**
   * One request, with those of the entries, of the first one's key, that fit. What it does not settle
   * is sent again after the backoff. Answers whether all went well, or at once nothing where nothing was
   * sent: there are no entries, or they would not outlive the page and there are others to send.
   *
   * @param isFresh With keepalive, so that the request outlives the page, if there is room. That quota
   * belongs to fresh events: what is sent again is kept anyway. What is not fresh the gateway may have: it is
   * asked first.
   */
  const deliver = (entries: readonly Entry[], isFresh: boolean): Promise<boolean> | undefined => {
    const [first] = entries
    const config = configs.get(first?.key as string)
    if (!first || !config) return
    const isMissing = triedAt(first) < 0
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
    for (const { name } of group) tried.set(name, Infinity)
    flush.busy++
    const request = send(config, group, !!reserved, asks).then(([status, afterMs, verdicts]) => {
      requests.delete(request)
      room += reserved
      const held = group.filter((entry) => {
        const verdict = verdicts.find(({ id }) => id === idOf(entry.name))
        if (!verdict) {
          tried.set(entry.name, !asks && /^[34]/.test(status as never) ? -now() : now())
          tell('held', entry, { status })
        } else if (verdict.status < (asks ? 207 : 300)) settle('delivered', entry)
        else if (asks) tried.set(entry.name, -1)
        else settle('dropped', entry, { reason: 'refused', ...verdict })
        return !verdict
      })
      if (held[0]) {
        if (config.served && !config.anyOk && /^3/.test(status as never))
          config.base = config.served
        // Too large as a batch, or one of its events can not be read: each gets its own verdict in the end.
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

  /** Sends fresh events while there is room, when leaving in as many requests as it takes. */
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
   * What may be sent again: what failed here, and what other pages do not have in hand any more. What
   * failed last comes last, so that an event or a key which is held holds no other.
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

  /** What to do now: fresh events first, what is sent again when nothing is on its way. */
  const next = async () => {
    if (isWaiting()) return
    pump()
    if (requests.size || !leftovers()[0]) return
    turn = withTabLock(drain)
    if (!(await turn) && !isWaiting()) wait(HAND_OFF_MS * (1 + Math.random()))
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
      // A page that is only hidden, or comes back, has another task.
      setTimeout(() => (leaving = false))
    },
    async all() {
      resume()
      const { delivered, dropped } = settled
      const work = async () => {
        while (quiet || requests.size) await Promise.all(requests)
        await turn
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

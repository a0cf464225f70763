import { MAX_KEEPALIVE_BYTES } from '../contract/delivery.ts'
import type { Config } from './config.ts'
import { byteLength } from './lib/byteLength.ts'
import { now } from './lib/now.ts'
import type { Notice, Notices } from './notices.ts'
import { type Entry, idOf, type Outbox } from './outbox.ts'
import type { Send } from './transport.ts'

/**
 * When what leaves.
 *
 * A fresh event leaves at once, in the same task and outside any lock, since a request made inside a
 * lock does not leave when the page navigates in the same task. Two such requests may be on their way;
 * what comes meanwhile is gathered and leaves together. What is sent again (an earlier page's events,
 * failed attempts) waits for its turn: one request at a time an origin.
 *
 * After a failure nothing leaves until the backoff is over, save once when the page is left.
 */

/** Requests with fresh events on their way at once. */
const MAX_REQUESTS = 2
/** What another page has handed over is left to its answer for so long, ms. */
const HAND_OFF_MS = 4000
/** First and longest wait after failures, ms; each is shortened at random by up to a half. */
const RETRY_BASE_MS = 2000
const RETRY_MAX_MS = 120_000
/** What failed no longer ago is not tried again when the page is left, ms. */
const JUST_NOW_MS = 1000
/** An event older than this is dropped, unless the key says otherwise, days. */
const MAX_AGE_DAYS = 30
const DAY_MS = 86_400_000
/** An age above this is no age but a clock that was wrong and was set right, days. */
const BROKEN_DAYS = 400
/** What an event costs in a batch beside its payload, bytes: its id, `at` and the names. */
const ENVELOPE_BYTES = 100

/** What became of the outbox in one flush: numbers of events. */
export type FlushResult = {
  readonly delivered: number
  readonly kept: number
  readonly dropped: number
}

export type Flush = {
  /** There is an event in the outbox that was just accepted. */
  fresh(): void
  /** Sends what earlier pages left; and after `online`, or a return from the back/forward cache. */
  resume(): unknown
  /**
   * The page is left, or only hidden: sends what never left, whatever the backoff, and once more what
   * failed a while ago. Left for good, what comes after goes at once too.
   */
  leave(isForGood: boolean): void
  /** Tries everything now, whatever the backoff. */
  all(): Promise<FlushResult>
}

/**
 * @param configs The configuration of each key on this page; one may join later.
 * @param inTurn Runs when no other page of the origin is at it; `false` where it is not its turn.
 */
export function createFlush(
  outbox: Outbox,
  send: Send,
  configs: ReadonlyMap<string, Config>,
  notices: Notices,
  inTurn: (run: () => Promise<unknown>) => Promise<boolean>,
): Flush {
  const requests = new Set<Promise<unknown>>()
  /** Names of entries in a request that has no answer yet, and of those that failed before, with when. */
  const inHand = new Set<string>()
  const failed = new Map<string, number>()
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

  const settle = (kind: 'delivered' | 'dropped', { name, key }: Entry, why?: Notice) => {
    settled[kind]++
    outbox.remove(name)
    notices.tell(kind, { id: idOf(name), key, ...why })
  }

  /**
   * One request, with those of the entries, of the first one's key, that fit. What it does not settle
   * is sent again after the backoff. Answers whether everything is settled, or at once nothing where
   * nothing was sent: there are no entries, or the page is left and there is no room.
   *
   * @param isFresh With keepalive, so that the request outlives the page, if there is room. That quota
   * belongs to fresh events: what is sent again is kept anyway.
   */
  const attempt = (entries: readonly Entry[], isFresh: boolean): Promise<boolean> | undefined => {
    const [first] = entries
    const config = configs.get(first?.key as string)
    if (!config) return
    let bytes = 0
    const group = entries.filter(({ key, body }) => {
      const size = byteLength(body) + ENVELOPE_BYTES
      if (
        bytes &&
        (key !== config.key ||
          !config.batch ||
          bytes + size > Math.min(most, isFresh ? room : most))
      )
        return false
      bytes += size
      return true
    })
    const keepalive = isFresh && bytes <= room
    if (leaving && isFresh && !keepalive) return

    const reserved = keepalive ? bytes : 0
    room -= reserved
    for (const { name } of group) inHand.add(name)
    const request = send(config, group, keepalive).then(({ status, afterMs, results }) => {
      requests.delete(request)
      room += reserved
      let isSettled = true
      group.forEach((entry, index) => {
        const verdict = results[index]
        inHand.delete(entry.name)
        if (!verdict) {
          isSettled = false
          failed.set(entry.name, now())
          notices.tell('held', { id: idOf(entry.name), key: entry.key, status })
        } else if (verdict.status < 300) settle('delivered', entry)
        else settle('dropped', entry, { reason: 'refused', ...verdict })
      })
      if (isSettled) failures = 0
      else {
        // Too large as a batch, or one of its events can not be read: each gets its own verdict in the end.
        if (group[1] && /^4(00|13|22)/.test(`${status}`)) most = bytes / 2
        const ms = Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** failures++)
        notBefore = Math.max(notBefore, performance.now() + afterMs)
        wait(ms * (1 - Math.random() / 2))
      }
      return isSettled
    })
    requests.add(request)
    return request
  }

  /** Sends fresh events while there is room, when leaving in as many requests as it takes. */
  const pump = () => {
    while (
      (leaving || requests.size < MAX_REQUESTS) &&
      attempt(
        outbox.own().filter(({ name }) => !inHand.has(name) && !failed.has(name)),
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
        const { name, key, at } = entry
        const config = configs.get(key)
        if (!config || inHand.has(name)) return false
        const age = now() - at
        if (age > (config.maxAgeDays ?? MAX_AGE_DAYS) * DAY_MS && age < BROKEN_DAYS * DAY_MS) {
          settle('dropped', entry, { reason: 'too_old' })
          return false
        }
        if (failed.has(name) || age > HAND_OFF_MS || age < 0) return true
        wait(HAND_OFF_MS)
        return false
      })
      .sort((a, b) => (failed.get(a.name) ?? 0) - (failed.get(b.name) ?? 0))

  const drain = async () => {
    while (!isWaiting() && (await attempt(leftovers(), false)));
  }

  /** What to do now: fresh events first, what is sent again when nothing is on its way. */
  const next = async () => {
    if (isWaiting()) return
    pump()
    if (requests.size || !leftovers().length) return
    turn = inTurn(drain)
    if (!(await turn) && !isWaiting()) wait(HAND_OFF_MS * (1 + Math.random()))
  }

  const resume = () => {
    leaving = false
    failures = 0
    return next()
  }

  return {
    fresh() {
      if (leaving || !isWaiting()) pump()
    },
    resume,
    leave(isForGood) {
      leaving = true
      // Chromium fails the requests of a page that is left just before it says so, and they arrive all
      // the same: what has only now failed waits for the next page.
      for (const [name, at] of failed) if (now() - at > JUST_NOW_MS) failed.delete(name)
      pump()
      leaving = isForGood
    },
    async all() {
      const { delivered, dropped } = settled
      resume()
      while (requests.size) await Promise.all(requests)
      await turn
      return {
        delivered: settled.delivered - delivered,
        dropped: settled.dropped - dropped,
        kept: outbox.all().filter(({ key }) => configs.has(key)).length,
      }
    },
  }
}

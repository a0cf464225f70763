import type { Database } from 'better-sqlite3'
import type { ReportFigures } from '../campaigns/report.ts'
import type { ReportView } from '../campaigns/reportView.ts'
import type { Utm } from '../campaigns/utm.ts'
import { clearWal } from './database.ts'
import { createBlocks } from './reportBlocks.ts'
import { createReportClosing } from './reportClosing.ts'
import { createFollowing } from './reportFollowing.ts'
import { createReportForgetting, type ReadEvent } from './reportForgetting.ts'
import type { ReportLog } from './reportLog.ts'
import { createNumbers, DAILY_NAMES, hashOfUtm } from './reportNumbers.ts'
import { createReportOrders } from './reportOrders.ts'
import { createParts, MAX_DEVICE_TOUCHES } from './reportParts.ts'
import { createSeen } from './reportSeen.ts'
import { NO_PART, type Part, toFigures } from './reportSums.ts'
import { clear, isThisVersion } from './reportTables.ts'
import { createTouches } from './reportTouches.ts'
import { createVisitors } from './reportVisitors.ts'

/** Bounds for clients that invent values and for programs: how much of their events reports store and read. */
export type ReportBounds = {
  /** See DAILY_NAMES, the default. */
  readonly dailyNames: number
  /** See MAX_DEVICE_TOUCHES, the default. */
  readonly maxDeviceTouches: number
}

/** The result of `follow`. */
export type Progress = {
  /** Events that were read. */
  readonly events: number
  /** Whether the end of the log was reached. */
  readonly isDone: boolean
}

/** The functions of a store over one open database. Every function is synchronous. */
export type ReportConnection = {
  /** The position up to which a customer's events are read. 0 if they are not counted yet. */
  position(customer: string): number
  /**
   * Reads at most `max` further events of the log, in one transaction. Only the events of customers with an e-mail
   * campaign are counted.
   *
   * @param customer Counts only this customer, with or without a campaign. Default all customers, in the order of the
   *   log, and then those whose first campaign is new.
   */
  follow(max: number, customer?: string): Progress
  /** What has to be closed for a customer, whose events must all be read. */
  planClosing(customer: string, timeZone: string): ClosingPlan
  /**
   * Joins some rows of a block before it is closed, in one transaction.
   *
   * @returns Whether there may be more.
   */
  joinBlock(block: ClosingPlan['blocks'][number]): boolean
  /**
   * Closes one block, in one transaction. The result counts once the log has it, see Closing.
   *
   * @throws Error if the reports were made again since the plan was made.
   */
  closeBlock(plan: ClosingPlan, block: ClosingPlan['blocks'][number], until: number): Part<string>
  /**
   * Deletes touches that are in closed figures, of one block of devices, in one transaction.
   *
   * @returns Whether there may be more.
   */
  forgetClosed(): boolean
  /**
   * Deletes what is known of events that were removed from the log because of their age, of some thousand events, in one
   * transaction.
   *
   * @returns Whether there may be more.
   */
  forgetSwept(): boolean
  /**
   * Deletes these events, in one transaction. Closed figures stay, since they are sums.
   *
   * @returns How many of them the reports had.
   */
  forgetEvents(customer: string, events: readonly ReadEvent[]): number
  /** Deletes what closing has noted of these devices, in one transaction. */
  forgetDevices(customer: string, dids: readonly string[]): void
  /** Empties the -wal. False if another connection reads or writes. */
  clearWal(): boolean
  /** See ReportStore. */
  read(customer: string, utm: Utm, upTo: number, view: ReportView): ReportFigures | undefined
  /** The position up to which all events are read. */
  reached(): number
  close(): void
}

/** The blocks of devices that have visited a customer's campaigns. */
export type ClosingPlan = {
  readonly customer: string
  /** The time zone of the days. */
  readonly timeZone: string
  /** Where the closed figures end, ms since 1970. 0 if there are none. */
  readonly since: number
  /** Identifies the content of the reports' file. */
  readonly build: Uint8Array
  readonly blocks: readonly {
    readonly utm: Utm
    readonly isBot: boolean
    readonly number: number
    readonly block: number
  }[]
}

/**
 * How long one call of `read` adds up, ms. Other reports wait for it, and so does whoever writes. It ends with a whole
 * step (see Parts), which takes 10 to 20 ms where a thousand visitors have twenty thousand events.
 */
const REFRESH_MS = 15

type Position = {
  readonly build: Buffer
  readonly changes: number
  readonly seq: number
  readonly last: number
  readonly lastId: Buffer | null
}
/** @throws Error if the database is of another version. */
export function createReportConnection(
  database: Database,
  log: ReportLog,
  { dailyNames = DAILY_NAMES, maxDeviceTouches = MAX_DEVICE_TOUCHES }: Partial<ReportBounds>,
): ReportConnection {
  const numbers = createNumbers(database, dailyNames)
  const visitors = createVisitors(database)
  const seen = createSeen(database)
  const blocks = createBlocks(database)
  const orders = createReportOrders(database, numbers)
  const touches = createTouches(database, log, { numbers, visitors, seen, blocks, orders })
  const following = createFollowing(log, { numbers, seen, touches })
  const parts = createParts(database, blocks, orders, maxDeviceTouches)
  const closing = createReportClosing(database, parts, blocks, orders)
  const position = database.prepare<[], Position>(
    'SELECT build, changes, seq, last, last_id AS lastId FROM position',
  )
  const movePosition = database.prepare<[Position]>(
    'UPDATE position SET changes = @changes, seq = @seq, last = @last, last_id = @lastId',
  )
  const positionOf = database
    .prepare<[string], number>(
      'SELECT iif(behind, seq, max(seq, (SELECT seq FROM position))) FROM customers WHERE id = ?',
    )
    .pluck()
  /** The position that this connection has reached. Its memory is valid only for this position. */
  let left: Position | undefined
  function forget(): void {
    numbers.forget()
    following.forget()
    blocks.forget()
    left = undefined
  }

  function checkVersion(): void {
    // The file is not replaced, since the other gateway would then replace it again.
    if (!isThisVersion(database))
      throw new Error(
        `${database.name} is used by a gateway of another version that runs over the same folder`,
      )
  }

  /**
   * The position to continue from: the beginning, if another log was read before. Runs in a transaction that writes.
   */
  function begin(): Position {
    checkVersion()
    const now = position.get()
    if (now && left && left.changes === now.changes && left.build.equals(now.build)) return now
    forget()
    const isSameLog =
      now && (now.last === 0 || (now.lastId && log.idAt(now.last)?.equals(now.lastId)))
    if (!isSameLog) clear(database)
    const begun = isSameLog ? now : (position.get() as Position)
    visitors.load(begun.build, numbers.customers().values())
    return begun
  }

  const follow = database.transaction((max: number, only: string | undefined): Progress => {
    const begun = begin()
    const {
      events,
      isDone,
      seq,
      last: read = 0,
      hasChanged,
    } = following.follow(begun.seq, max, only)
    blocks.write()
    left = begun
    if (hasChanged) {
      const isFurther = read > begun.last
      left = {
        ...begun,
        changes: begun.changes + 1,
        seq,
        last: isFurther ? read : begun.last,
        lastId: isFurther ? (log.idAt(read) ?? null) : begun.lastId,
      }
      movePosition.run(left)
    }
    return { events, isDone }
  })

  const refresh = database.transaction((customer: string, tracking: Utm, timeZone: string) => {
    checkVersion()
    const end = performance.now() + REFRESH_MS
    const range = { since: log.closedUntil(customer), timeZone }
    for (const isBot of [false, true]) {
      const utm = numbers.findUtm(customer, tracking, isBot)
      if (utm !== undefined) parts.refresh(utm, range, () => performance.now() >= end)
    }
  })

  const read = database.transaction(
    (customer: string, tracking: Utm, upTo: number, view: ReportView) => {
      checkVersion()
      if ((positionOf.get(customer) ?? 0) < upTo) return undefined
      const readPart = (isBot: boolean): Part<string> | undefined => {
        const utm = numbers.findUtm(customer, tracking, isBot)
        const { since, part = NO_PART } = log.closed(customer, hashOfUtm(customer, tracking, isBot))
        const range = { since, timeZone: view.timeZone }
        return utm === undefined ? part : parts.read(utm, range, part)
      }
      const people = readPart(false)
      const bots = people && readPart(true)
      return bots && toFigures(people, bots, view)
    },
  )

  /** Lets all connections forget what they remember. */
  function tellOthers(begun: Position): void {
    movePosition.run({ ...begun, changes: begun.changes + 1 })
    forget()
  }

  const planClosing = database.transaction((customer: string, timeZone: string): ClosingPlan => {
    const { build } = begin()
    const since = log.closedUntil(customer)
    const blocks = log.campaigns(customer).flatMap((utm) =>
      [false, true].flatMap((isBot) => {
        const number = numbers.findUtm(customer, utm, isBot)
        if (number === undefined) return []
        return closing.blocks(number, since).map((block) => ({ utm, isBot, number, block }))
      }),
    )
    // Two campaigns may have the same utm values.
    const unique = new Map(blocks.map((block) => [`${block.number} ${block.block}`, block]))
    return { customer, timeZone, since, build, blocks: [...unique.values()] }
  })

  const closeBlock = database.transaction(
    (plan: ClosingPlan, { number, block }: ClosingPlan['blocks'][number], until: number) => {
      if (!begin().build.equals(plan.build)) throw new Error('The reports were made again')
      return closing.closeBlock(number, block, plan, until)
    },
  )

  const joinBlock = database.transaction(({ block }: ClosingPlan['blocks'][number]) => {
    checkVersion()
    return blocks.join(block)
  })

  const forgetting = createReportForgetting(database, log, {
    begin,
    tellOthers,
    numbers,
    closing,
    seen,
    orders,
  })

  left = database.transaction(begin).immediate()
  return {
    position(customer) {
      checkVersion()
      return positionOf.get(customer) ?? 0
    },
    reached: () => position.get()?.seq ?? 0,
    follow(max, customer) {
      checkVersion()
      // Usually there is nothing new. Then no lock is taken.
      const now = position.get()
      const isSame = left && now?.changes === left.changes && now.build.equals(left.build)
      if (isSame && following.isDone(now.seq, customer)) return { events: 0, isDone: true }
      try {
        return follow.immediate(max, customer)
      } catch (error) {
        forget()
        throw error
      }
    },
    read(customer, tracking, upTo, view) {
      const found = read(customer, tracking, upTo, view)
      if (found) return found
      refresh.immediate(customer, tracking, view.timeZone)
      return read(customer, tracking, upTo, view)
    },
    planClosing: (customer, timeZone) => planClosing.immediate(customer, timeZone),
    joinBlock: (block) => joinBlock.immediate(block),
    closeBlock: (plan, block, until) => closeBlock.immediate(plan, block, until),
    forgetClosed() {
      checkVersion()
      return forgetting.forgetClosed()
    },
    forgetSwept() {
      checkVersion()
      return forgetting.forgetSwept(position.get()?.seq ?? 0)
    },
    forgetEvents: forgetting.forgetEvents,
    forgetDevices: forgetting.forgetDevices,
    clearWal: () => clearWal(database),
    close: () => void database.close(),
  }
}

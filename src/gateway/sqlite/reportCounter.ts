import type { Database } from 'better-sqlite3'
import type { ReportFigures } from '../campaigns/report.ts'
import { type Utm, utmOf } from '../campaigns/utm.ts'
import { type Customer, createCustomers, type DailyBounds } from './reportCustomers.ts'
import type { ReportLog, Row } from './reportLog.ts'
import { createNews } from './reportNews.ts'
import { createNumbers } from './reportNumbers.ts'
import { clear, isThisVersion } from './reportTables.ts'
import { createTotals, STEP } from './reportTotals.ts'
import { createTrail } from './reportTrail.ts'

/** What a slice of counting came to. */
export type Progress = {
  /** Events that were counted. */
  readonly counted: number
  /** Whether there is nothing more to count, as far as is known. */
  readonly isDone: boolean
}

/** What strangers can make reports keep and do. */
export type ReportBounds = {
  /** See createTrail. */
  readonly mostMoved: number
  readonly daily: DailyBounds
}

/** Counts a log's events into one open database. See ReportStore. */
export type Counter = {
  counted(customer: string): number
  rollUp(max: number, wanted: readonly string[]): Progress
  read(customer: string, utm: Utm, upTo: number): ReportFigures | undefined
  tidy(): void
  close(): void
}

/** Events of a customer that are counted before it is another one's turn: about 3 ms. */
const TURN = 100
/** Campaigns that get their number in one slice, about 10 ms. */
const MAX_CAMPAIGNS = 500

/** What makes an event more than an event; a name of its own or a prefix changes nothing. */
const STEPS: ReadonlyMap<string, number> = new Map([
  ['viewProduct', STEP.viewProduct],
  ['addToCart', STEP.addToCart],
  ['initiateCheckout', STEP.initiateCheckout],
  ['setEmail', STEP.identified],
  ['sendCustom', STEP.identified],
])

type Position = {
  readonly build: Buffer
  readonly changes: number
  readonly seq: number
  readonly id: Buffer | null
  readonly campaigns: number
}

export function createCounter(database: Database, log: ReportLog, bounds: ReportBounds): Counter {
  const totals = createTotals(database)
  const trail = createTrail(database, totals, bounds.mostMoved)
  const customers = createCustomers(database, bounds.daily)
  const numbers = createNumbers(database, customers, trail.lastVisit)
  const news = createNews(log, counted)
  const position = database.prepare<[], Position>(
    'SELECT build, changes, seq, id, campaigns FROM position',
  )
  const movePosition = database.prepare<[Position]>(
    'UPDATE position SET changes = @changes, seq = @seq, id = @id, campaigns = @campaigns',
  )
  /** Where this connection left off, which is what is remembered and the news are about. */
  let left: Position | undefined

  function forget(): void {
    numbers.forget()
    totals.forget()
    left = undefined
  }

  function counted(customer: string): number {
    return customers.find(customer)?.seq ?? 0
  }

  function isDone(): boolean {
    return news.isEmpty() && !news.isLooking()
  }

  function checkVersion(): void {
    // Not mended: the other gateway would mend it back.
    if (!isThisVersion(database))
      throw new Error(
        `${database.name} is kept by a gateway of another version, which runs over the same folder`,
      )
  }

  /** Where to go on; the beginning, where what was counted is another log. */
  function begin(): Position {
    // Again, since only now nobody else writes.
    checkVersion()
    const now = position.get()
    if (now && left && left.changes === now.changes && left.build.equals(now.build)) return now
    forget()
    if (now && (now.seq === 0 || (now.id && log.idAt(now.seq)?.equals(now.id)))) return now
    clear(database)
    news.restart()
    return position.get() as Position
  }

  /** Gives the next campaigns' utm values their numbers; answers how many, and the last position. */
  function addCampaigns(after: number) {
    let count = 0
    let last = after
    for (const { seq, customer, head } of log.campaigns(after, MAX_CAMPAIGNS)) {
      const utm = parse(head)?.tracking as Utm | undefined
      if (utm) numbers.addCampaign(customer, utm)
      count++
      last = seq
    }
    return { count, last }
  }

  function take(customer: Customer, row: Row): void {
    if (row.did === null) return
    customers.arrive(customer, row.receivedAt)
    const device = numbers.device(customer, row.did)
    if (!device) return
    const utm = utmOf(urlOf(row.payload))
    trail.add(device, {
      at: row.at,
      id: row.id,
      name: numbers.name(customer, row.event),
      step: STEPS.get(row.operation) ?? STEP.any,
      utm: utm ? numbers.utm(customer, utm) : null,
    })
  }

  /** Counts the customer's next events up to a position, at most `max`; answers how many, and the last one. */
  function countTurn(id: string, upTo: number, max: number) {
    const customer = customers.open(id)
    let count = 0
    let last: Row | undefined
    for (const row of log.events(id, customer.seq, upTo, max)) {
      take(customer, row)
      totals.applyMuch()
      count++
      last = row
    }
    if (last) customers.save({ ...customer, seq: last.seq })
    if (count < max) news.done(id)
    return { count, last }
  }

  const slice = database.transaction((max: number, wanted: readonly string[]): Progress => {
    const begun = begin()
    // Before the campaigns: what comes by a campaign that is not known yet is for the next slice.
    const upTo = log.end()
    const campaigns = addCampaigns(begun.campaigns)
    let { seq, id } = begun
    let count = 0
    if (campaigns.count < MAX_CAMPAIGNS)
      for (const customer of news.inTurn(wanted)) {
        const turn = countTurn(customer, upTo, Math.min(TURN, max - count))
        count += turn.count
        if (turn.last && turn.last.seq > seq) ({ seq, id } = turn.last)
        if (count >= max) break
      }
    totals.apply()
    const isChanged = count > 0 || campaigns.count > 0
    const changes = begun.changes + (isChanged ? 1 : 0)
    left = { ...begun, changes, seq, id, campaigns: campaigns.last }
    if (isChanged) movePosition.run(left)
    return { counted: count, isDone: isDone() }
  })

  const read = database.transaction((id: string, utm: Utm, upTo: number) => {
    checkVersion()
    const customer = customers.find(id)
    if ((customer?.seq ?? 0) < upTo) return undefined
    const known = numbers.find(id, utm)
    const figures = totals.read(known?.utm)
    const days = customer ? customers.incompleteDays(customer, known?.since ?? Infinity) : []
    return days.length > 0 ? { ...figures, incomplete_days: days } : figures
  })

  return {
    counted(customer) {
      checkVersion()
      return counted(customer)
    },
    rollUp(max, wanted) {
      checkVersion()
      try {
        // Who has news was found out by what is counted, which another build, or a slice that failed, changes.
        const isSame = left && position.get()?.build.equals(left.build)
        if (!isSame) news.restart()
        news.look()
        news.lookAt(wanted)
        // Nothing new is the usual case, and takes no lock.
        if (isSame && news.isEmpty()) return { counted: 0, isDone: isDone() }
        return slice.immediate(max, wanted)
      } catch (error) {
        forget()
        throw error
      }
    },
    read,
    tidy: () => void database.pragma('wal_checkpoint(PASSIVE)'),
    close: () => void database.close(),
  }
}

/**
 * The address of an event, where it may carry utm values: most do not, and a look at their text costs a
 * tenth of reading it. (A name is plain, or has its letters escaped in the address or in the JSON.)
 */
function urlOf(payload: string): unknown {
  return /utm_|[%\\]/.test(payload) ? parse(payload)?.url : undefined
}

/** Nothing of ours is anything but an object in JSON; something else must not be the end of all reports. */
function parse(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(json) ?? undefined
  } catch {
    return undefined
  }
}

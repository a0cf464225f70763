import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { ReportFigures } from '../report.ts'
import { type Utm, utmOf } from '../utm.ts'
import { createCache } from './reportCache.ts'
import { openLog, type ReportLog, type Row } from './reportLog.ts'
import { createNews } from './reportNews.ts'
import { clear, isDamage, isThisVersion, openReports } from './reportTables.ts'
import { createTotals, OTHER, STEP } from './reportTotals.ts'
import { createTrail, type Device } from './reportTrail.ts'

/** The files of a store of reports. */
export type ReportFiles = {
  /** The event log's; it is only read. */
  readonly eventsFile: string
  /** Made where it is missing, and again where it is damaged or of another version or log. */
  readonly reportsFile: string
}

/** What a slice of counting came to. */
export type Progress = {
  /** Events that were counted. */
  readonly counted: number
  /** Whether there is nothing more to count, as far as is known. */
  readonly isDone: boolean
}

/** Reports over one log. Everything here is synchronous; the thread is where that hurts nobody. */
export type ReportStore = {
  /** The position of a customer's last event in the log, 0 where it has none. */
  end(customer: string): number
  /** Position up to which a customer's events are counted, 0 where none is. */
  counted(customer: string): number
  /**
   * Counts at most `max` further events, in one transaction: a few of each customer that has news, in turn.
   *
   * @param wanted Customers that go first; it ends once all of theirs is counted. Default none.
   */
  rollUp(max: number, wanted?: readonly string[]): Progress
  /** The figures of what is counted; undefined where that is not all up to a position (any more). */
  read(customer: string, utm: Utm, upTo: number): ReportFigures | undefined
  /** Moves what was written to its place in the file, in a quiet moment: else a report may wait for it. */
  tidy(): void
  close(): void
}

/** Events of a customer that are counted before it is another one's turn: about 3 ms. */
const TURN = 100
/** More events than these that late visits take over are no person's; see createTrail. */
const MOST_MOVED = 2_000
/** Devices that are remembered, about 300 bytes each. */
const MOST_DEVICES = 5_000
/** Names and utm values that are remembered, each. */
const MOST_NAMES = 2_000
/** Longer texts are remembered by their hash, UTF-16 units. */
const MAX_KEY_LENGTH = 200
/** Longer event names are counted as `(other)`, UTF-16 units: a report shows a hundred. */
const MAX_NAME_LENGTH = 200

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
}

/**
 * Opens the reports of a log. A reports file that can not be used is deleted: all in it is counted again,
 * now or when the damage shows.
 *
 * Several gateways may share both files: a slice is counted by one of them, and the others go on behind it.
 * Each customer's events are counted in the order of the log, and whatever the others have done.
 *
 * @param mostMoved See createTrail. Default 2,000.
 * @throws Error when the log can not be read, or the reports can not be written.
 */
export function openReportStore(files: ReportFiles, mostMoved = MOST_MOVED): ReportStore {
  const log = openLog(files.eventsFile)
  /** Missing while the reports could not be begun anew. */
  let counter: ReturnType<typeof createCounter> | undefined
  try {
    counter = open()
  } catch (error) {
    log.close()
    throw error
  }

  function open(): ReturnType<typeof createCounter> {
    try {
      return connect()
    } catch (error) {
      if (!isDamage(error)) throw explain(error)
      remove(files.reportsFile)
      return connect()
    }
  }

  function connect() {
    const database = openReports(files.reportsFile)
    try {
      return createCounter(database, log, mostMoved)
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** Runs what reads or writes the reports; where that shows damage, they are begun anew. */
  function mending<Result>(run: (counter: ReturnType<typeof createCounter>) => Result): Result {
    try {
      counter ??= open()
      return run(counter)
    } catch (error) {
      if (!isDamage(error)) throw explain(error)
      counter?.close()
      counter = undefined
      remove(files.reportsFile)
      counter = open()
      return run(counter)
    }
  }

  function explain(error: unknown): unknown {
    if (!(error instanceof Database.SqliteError)) return error
    return new Error(`${files.reportsFile} can not be written: ${error.message}`, { cause: error })
  }

  return {
    end: (customer) => log.end(customer),
    counted: (customer) => mending((counter) => counter.counted(customer)),
    rollUp: (max, wanted = []) => mending((counter) => counter.rollUp(max, wanted)),
    read: (customer, utm, upTo) => mending((counter) => counter.read(customer, utm, upTo)),
    tidy: () => mending((counter) => counter.tidy()),
    close() {
      counter?.close()
      log.close()
    },
  }
}

/** Counts the log's events into one open database. */
function createCounter(database: Database.Database, log: ReportLog, mostMoved: number) {
  const totals = createTotals(database)
  const trail = createTrail(database, totals, mostMoved)
  const position = database.prepare<[], Position>('SELECT build, changes, seq, id FROM position')
  const movePosition = database.prepare<[number, number, Buffer | null]>(
    'UPDATE position SET changes = ?, seq = ?, id = ?',
  )
  const countedUpTo = database
    .prepare<[string], number>('SELECT seq FROM customers WHERE customer = ?')
    .pluck()
  const moveCustomer = database.prepare<[string, number]>(
    `INSERT INTO customers VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq`,
  )
  const findDevice = database.prepare<[Buffer], { device: number; moved: number }>(
    'SELECT device, moved FROM devices WHERE hash = ?',
  )
  const addDevice = database.prepare<[Buffer]>('INSERT INTO devices (hash) VALUES (?)')
  const findUtm = database.prepare<[Buffer], number>('SELECT utm FROM utms WHERE hash = ?').pluck()
  const addUtm = database.prepare<[Buffer]>('INSERT INTO utms (hash) VALUES (?)')
  const findName = database
    .prepare<[string], number>('SELECT name FROM names WHERE text = ?')
    .pluck()
  const addName = database.prepare<[string]>('INSERT INTO names (text) VALUES (?)')
  const devices = createCache<Device>(MOST_DEVICES)
  const utms = createCache<number>(MOST_NAMES)
  const names = createCache<number>(MOST_NAMES)
  const news = createNews(log, counted)
  /** Where this connection left off, which is what the caches and the news are about. */
  let left: Position | undefined

  function forget(): void {
    devices.clear()
    utms.clear()
    names.clear()
    totals.forget()
    left = undefined
  }

  function counted(customer: string): number {
    return countedUpTo.get(customer) ?? 0
  }

  function isDone(): boolean {
    return news.isEmpty() && !news.isLooking()
  }

  function deviceOf(customer: string, did: string): Device {
    return devices.get(keyOf([customer, did]), () => {
      const hash = hashOf([customer, did])
      const found = findDevice.get(hash)
      if (!found)
        return { device: Number(addDevice.run(hash).lastInsertRowid), moved: 0, visit: null }
      return { ...found, visit: trail.lastVisit(found.device) }
    })
  }

  function utmNumber(customer: string, utm: Utm): number {
    const texts = textsOf(customer, utm)
    return utms.get(keyOf(texts), () => {
      const hash = hashOf(texts)
      return findUtm.get(hash) ?? Number(addUtm.run(hash).lastInsertRowid)
    })
  }

  function nameNumber(event: string): number {
    const text = event.length > MAX_NAME_LENGTH ? OTHER : event
    return names.get(text, () => findName.get(text) ?? Number(addName.run(text).lastInsertRowid))
  }

  function take(customer: string, row: Row): void {
    if (row.did === null) return
    const utm = utmOf(urlOf(row.payload))
    trail.add(deviceOf(customer, row.did), {
      at: row.at,
      id: row.id,
      name: nameNumber(row.event),
      step: STEPS.get(row.operation) ?? STEP.any,
      utm: utm ? utmNumber(customer, utm) : null,
    })
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

  /** Counts the customer's next events, at most `max`; answers how many, and the last one. */
  function countTurn(customer: string, max: number) {
    let count = 0
    let last: Row | undefined
    for (const row of log.after(customer, counted(customer), max)) {
      take(customer, row)
      totals.applyMuch()
      count++
      last = row
    }
    if (last) moveCustomer.run(customer, last.seq)
    if (count < max) news.done(customer)
    return { count, last }
  }

  const slice = database.transaction((max: number, wanted: readonly string[]): Progress => {
    let { build, changes, seq, id } = begin()
    let count = 0
    for (const customer of news.inTurn(wanted)) {
      const turn = countTurn(customer, Math.min(TURN, max - count))
      count += turn.count
      if (turn.last && turn.last.seq > seq) ({ seq, id } = turn.last)
      if (count >= max) break
    }
    totals.apply()
    if (count > 0) {
      changes++
      movePosition.run(changes, seq, id)
    }
    left = { build, changes, seq, id }
    return { counted: count, isDone: isDone() }
  })

  const read = database.transaction((customer: string, utm: Utm, upTo: number) => {
    checkVersion()
    if (counted(customer) < upTo) return undefined
    return totals.read(findUtm.get(hashOf(textsOf(customer, utm))))
  })

  return {
    counted(customer: string): number {
      checkVersion()
      return counted(customer)
    },
    rollUp(max: number, wanted: readonly string[]): Progress {
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
    close: () => database.close(),
  }
}

/**
 * The address of an event, where it may carry utm values: most do not, and a look at their text costs a
 * tenth of reading it. (A name is plain, or has its letters escaped in the address or in the JSON.)
 *
 * No payload of ours is anything but an object in JSON; another one must not be the end of all reports.
 */
function urlOf(payload: string): unknown {
  if (!/utm_|[%\\]/.test(payload)) return undefined
  try {
    return JSON.parse(payload).url
  } catch {
    return undefined
  }
}

const textsOf = (customer: string, utm: Utm): readonly string[] => [
  ...[customer, utm.utm_campaign, utm.utm_medium, utm.utm_source],
]

/** 16 bytes for texts of any length, which two different lists do not share. */
const hashOf = (texts: readonly string[]): Buffer =>
  createHash('sha256').update(JSON.stringify(texts)).digest().subarray(0, 16)

/** The same for the caches: texts that are short are cheaper than their hash. */
function keyOf(texts: readonly string[]): string {
  const key = JSON.stringify(texts)
  return key.length <= MAX_KEY_LENGTH ? key : hashOf(texts).toString('latin1')
}

function remove(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) rmSync(path, { force: true })
}

import type { Statement } from 'better-sqlite3'
import { findMention } from '../people/addresses.ts'
import { type Kept, MAX_LISTED, type Proof } from '../people/people.ts'
import type { Person } from '../people/person.ts'
import {
  BETWEEN_JSON,
  beginJson,
  devicesJson,
  END_JSON,
  eventJson,
  type PersonEvent,
} from '../people/personJson.ts'
import type { ErasedEvent } from './copyRemovals.ts'
import { closeDatabase, openDatabase } from './database.ts'
import {
  clearDerived,
  clearWals,
  closeDerived,
  type Derived,
  openDerived,
  type PersonFiles,
  type Steps,
} from './derivedFiles.ts'
import { createErasures } from './erasures.ts'
import { createRemoval, MAX_REMOVED } from './removal.ts'
import type { ReadEvent } from './reportForgetting.ts'
import type { ReportStore } from './reportStore.ts'
import { orderNumberOf } from './states.ts'
import { EVENTS_SCHEMA } from './store.ts'
import { uuidOf } from './uuid.ts'

/** The data of one person. */
export type PersonStore = {
  /**
   * Finds the person's events up to the newest one of the customer. Call it once, before the others.
   *
   * @returns Whether there are any.
   */
  search(): Steps<boolean>
  /** What is kept. */
  describe(): Steps<Kept>
  /** The same events as JSON (see personJson.ts), in pieces. A step without events yields an empty piece. */
  json(): Generator<string, void>
  /** Removes the events and what was derived from them. Throws if another process reads the files all the time. */
  erase(): Steps<Proof>
  /**
   * The same in a copy of a log. Also yields events before they are removed from the copy: remove them from the log
   * before the next step.
   */
  eraseCopied(): Generator<number | readonly ErasedEvent[], Proof>
  /**
   * Removes what an erasure that was interrupted at its very end has left in the -wal of the files. Call it if an
   * erasure finds nothing.
   */
  clearFiles(): Steps<void>
  close(): void
}

/** Positions of the log that a step reads at most. */
const STEP_POSITIONS = 5_000
/** A step ends with the event that reaches one of these: an event may have 128 kB. */
const STEP_MS = 30
const STEP_CHARACTERS = 65_536
/** A pause after a transaction that removes events, as a multiple of its duration. */
const PAUSE_FACTOR = 3
/** Devices in a piece of an export, and in a transaction that forgets them. */
const PIECE_DEVICES = 500

/**
 * What the search has found, in memory: the devices that gave the address, and the events that contain it or are about an
 * order with it. `says` is 1 for the events by which a device or an order is found.
 */
const FOUND = `
  CREATE TEMP TABLE devices (did TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TEMP TABLE carriers (seq INTEGER PRIMARY KEY, says INTEGER NOT NULL) STRICT;
`
const OF_CUSTOMER =
  'FROM events INDEXED BY events_by_customer WHERE customer = ? AND seq BETWEEN ? AND ?'
const OF_PERSON = '(did IN temp.devices OR seq IN (SELECT seq FROM temp.carriers))'
const COLUMNS =
  'seq, id, received_at AS receivedAt, at, operation, event, did, bot, payload, version'
const SAYS = 'seq IN (SELECT seq FROM temp.carriers WHERE says = 1)'
/** Events that may contain an address. In a URL the @ may be encoded. */
const HAS_AT = "(instr(payload, '@') > 0 OR instr(payload, '%40') > 0)"

const OF_ORDERS = "operation IN ('saveOrder', 'updateOrderStatus')"

type Located = { readonly seq: number }
type Found = Located & { readonly did: string | null; readonly payload: string }
type FoundRecord = Found & { readonly operation: string }
/** An event of the person. `did` is the device, and `order` the number of the order, that has the address by it. */
type Carrier = Located & { readonly did: string | null; readonly order?: string | undefined }
type Removed = Located & ReadEvent
type Announce<Step> = (events: readonly Removed[]) => Step
type Row = Found & Omit<PersonEvent, 'id' | 'did' | 'payload'> & { readonly id: Buffer }
type Select<R> = Statement<[string, number, number], R>

/**
 * Opens the files for one person.
 *
 * @param now The clock, ms since 1970.
 * @throws Error that names the file, if one can not be opened.
 */
export function openPersonStore(
  files: PersonFiles,
  customer: string,
  person: Person,
  now: () => number,
): PersonStore {
  const database = openDatabase(files.eventsFile, EVENTS_SCHEMA)
  database.pragma('temp_store = MEMORY')
  database.exec(FOUND)
  const erasures = createErasures(database)
  const removal = createRemoval(database)
  const nextOf = database
    .prepare<[string, number], number | null>(
      'SELECT min(seq) FROM events INDEXED BY events_by_customer WHERE customer = ? AND seq > ?',
    )
    .pluck()
  const newest = database
    .prepare<[string], number | null>(
      'SELECT max(seq) FROM events INDEXED BY events_by_customer WHERE customer = ?',
    )
    .pluck()
  const select = <R>(columns: string, condition: string): Select<R> =>
    database.prepare(`SELECT ${columns} ${OF_CUSTOMER} AND ${condition} ORDER BY seq`)
  const addDevice = database.prepare<[string]>('INSERT OR IGNORE INTO temp.devices VALUES (?)')
  const addCarrier = database.prepare<[number, number]>(
    'INSERT OR IGNORE INTO temp.carriers VALUES (?, ?)',
  )
  const countDevices = database.prepare<[], number>('SELECT count(*) FROM temp.devices').pluck()
  const devicesAfter = database
    .prepare<[string, number], string>(
      'SELECT did FROM temp.devices WHERE did > ? ORDER BY did LIMIT ?',
    )
    .pluck()
  /** The position up to which events are the person's data. Later ones are new. */
  let upTo = 0

  const note = database.transaction((carriers: readonly Carrier[]) => {
    for (const { seq, did, order } of carriers) {
      addCarrier.run(seq, did === null && order === undefined ? 0 : 1)
      if (did !== null) addDevice.run(did)
    }
  })

  /**
   * Reads events of the customer in steps, in order. No read is open between two steps, since it would keep the -wal
   * from being emptied.
   *
   * @param each Returns true to end the step.
   */
  function* scan<R extends Located>(statement: Select<R>, each: (row: R) => boolean): Steps<void> {
    let after = 0
    for (;;) {
      const first = nextOf.get(customer, after)
      if (!first || first > upTo) return
      after = Math.min(first + STEP_POSITIONS - 1, upTo)
      const end = performance.now() + STEP_MS
      for (const row of statement.iterate(customer, first, after)) {
        if (!each(row) && performance.now() < end) continue
        after = row.seq
        break
      }
      yield 0
    }
  }

  /** Notes the events of which `find` returns something. */
  function* search(
    condition: string,
    find: (event: FoundRecord) => Omit<Carrier, 'seq'> | undefined,
  ): Steps<void> {
    const found: Carrier[] = []
    const events = select<FoundRecord>('seq, did, operation, payload', condition)
    const steps = scan(events, (event) => {
      const one = find(event)
      if (one) found.push({ seq: event.seq, ...one })
      return false
    })
    for (const pause of steps) {
      // Not in the scan: a connection can not write while it reads.
      note(found.splice(0))
      yield pause
    }
  }

  /**
   * Finds the devices that gave the address, the events that contain it, and everything about orders with it: their
   * states, and what was saved under the same number with another address, since that is the same order.
   */
  function* searchAddress(address: string): Steps<void> {
    const numbers = new Set<string | undefined>()
    yield* search(HAS_AT, ({ did, operation, payload }) => {
      const { given, isCarried } = findMention(payload, address)
      if (!isCarried) return undefined
      if (given !== address) return { did: null }
      const order = operation === 'saveOrder' ? orderNumberOf(payload) : undefined
      if (order !== undefined) numbers.add(order)
      return { did, order }
    })
    if (numbers.size === 0) return
    yield* search(OF_ORDERS, ({ payload }) =>
      numbers.has(orderNumberOf(payload)) ? { did: null } : undefined,
    )
  }

  function* isKept(): Steps<boolean> {
    let isFound = false
    const steps = scan(select<Located>('seq', OF_PERSON), () => {
      isFound = true
      return true
    })
    for (const pause of steps) {
      if (isFound) return true
      yield pause
    }
    return false
  }

  function* describe(): Steps<Kept> {
    const operations = new Map<string, number>()
    /** The first address that each device gave, and the devices that gave a second one. */
    const givenBy = new Map<string, string>()
    const shared = new Set<string>()
    let events = 0
    let first = Number.POSITIVE_INFINITY
    let last = Number.NEGATIVE_INFINITY
    const rows = select<Found & Pick<Row, 'at' | 'operation'>>(
      `seq, did, at, operation, iif(${HAS_AT} AND did IN temp.devices, payload, '{}') AS payload`,
      OF_PERSON,
    )
    yield* scan(rows, ({ did, at, operation, payload }) => {
      events++
      operations.set(operation, (operations.get(operation) ?? 0) + 1)
      first = Math.min(first, at)
      last = Math.max(last, at)
      const { given } = findMention(payload)
      if (did === null || given === undefined) return false
      if ((givenBy.get(did) ?? given) !== given) shared.add(did)
      givenBy.set(did, given)
      return false
    })
    return {
      events,
      operations: Object.fromEntries([...operations].sort(([, a], [, b]) => b - a)),
      first,
      last,
      devices: countDevices.get() as number,
      dids: devicesAfter.all('', MAX_LISTED),
      shared: shared.size,
    }
  }

  function* devicesInPieces(): Generator<readonly string[], void> {
    let last = ''
    for (;;) {
      const dids = devicesAfter.all(last, PIECE_DEVICES)
      if (dids.length === 0) return
      yield dids
      last = dids.at(-1) as string
    }
  }

  function* json(): Generator<string, void> {
    yield beginJson(customer, person, now())
    let isFirstPiece = true
    for (const dids of devicesInPieces()) {
      yield devicesJson(dids, isFirstPiece)
      isFirstPiece = false
    }
    yield BETWEEN_JSON
    let piece = ''
    let isFirst = true
    const steps = scan(select<Row>(COLUMNS, OF_PERSON), (row) => {
      piece += eventJson({ ...row, id: uuidOf(row.id) }, isFirst)
      isFirst = false
      return piece.length >= STEP_CHARACTERS
    })
    for (const _ of steps) {
      yield piece
      piece = ''
    }
    yield END_JSON
  }

  /**
   * Removes events in small transactions, with pauses, since appends wait for each.
   *
   * @param announce Makes a step of events before they are removed. Default: there is none.
   */
  function* removeAll<Step>(
    proof: number,
    derived: Derived,
    events: Select<Removed>,
    announce: Announce<Step> | undefined,
  ): Generator<number | Step, void> {
    const { reports, forward } = derived
    const found: Removed[] = []
    const steps = scan(events, (row) => found.push(row) >= MAX_REMOVED)
    for (const _ of steps) {
      let begun = performance.now()
      const removed = found.splice(0)
      if (removed.length > 0) {
        const counted = reports?.forgetEvents(customer, removed) ?? 0
        if (announce) {
          yield announce(removed)
          begun = performance.now()
        }
        removeEvents.immediate(proof, removed, counted, announce !== undefined)
        // The reports may have read them from the log in between.
        reports?.forgetEvents(customer, removed)
        // The reason of a dead letter may quote the event.
        forward?.letters.removeEvents(removed.map(({ seq }) => seq))
      }
      yield PAUSE_FACTOR * (performance.now() - begun)
    }
  }

  /** @param isCopy Then the log may have told the copy already that the events are removed. They count once, here. */
  const removeEvents = database.transaction(
    (proof: number, events: readonly Removed[], counted: number, isCopy: boolean) => {
      const removed = removal.removeEvents(events.map(({ seq }) => seq))
      erasures.count(proof, isCopy ? events.length : removed, counted)
    },
  )

  function* clearFiles(): Steps<void> {
    const derived = openDerived(files)
    try {
      yield* clearAll(derived)
    } finally {
      closeDerived(derived)
    }
  }

  function* clearAll(derived: Derived): Steps<void> {
    yield* clearWals(removal.clearWal)
    yield* clearDerived(derived)
  }

  function* forgetDevices(reports: ReportStore): Steps<void> {
    for (const dids of devicesInPieces()) {
      reports.forgetDevices(customer, dids)
      yield 0
    }
  }

  /**
   * The events that connect the address with its devices and orders are removed last, so that an erasure which was
   * interrupted finds the rest when it is repeated.
   */
  function* eraseAll<Step>(announce?: Announce<Step>): Generator<number | Step, Proof> {
    const derived = openDerived(files)
    try {
      const proof = erasures.begin(customer, now(), countDevices.get() as number)
      const columns = 'seq, did, at, id'
      const others = select<Removed>(columns, `${OF_PERSON} AND NOT ${SAYS}`)
      yield* removeAll(proof, derived, others, announce)
      if (derived.reports) yield* forgetDevices(derived.reports)
      yield* removeAll(proof, derived, select<Removed>(columns, SAYS), announce)
      yield* clearAll(derived)
      return erasures.end(proof, now())
    } finally {
      closeDerived(derived)
    }
  }

  return {
    *search() {
      upTo = newest.get(customer) ?? 0
      if (person.did !== undefined) addDevice.run(person.did)
      else yield* searchAddress(person.email)
      return yield* isKept()
    },
    describe,
    json,
    erase: () => eraseAll<never>(),
    eraseCopied: () =>
      eraseAll((events): readonly ErasedEvent[] =>
        events.map(({ seq, id }) => ({ seq, id: uuidOf(id) })),
      ),
    clearFiles,
    close: () => closeDatabase(database),
  }
}

/**
 * The proofs of a customer's erasures, newest first.
 *
 * @param max Default: all.
 */
export function readProofs(eventsFile: string, customer: string, max = -1): Proof[] {
  const database = openDatabase(eventsFile, EVENTS_SCHEMA)
  try {
    return createErasures(database).newest(customer, max)
  } finally {
    closeDatabase(database)
  }
}

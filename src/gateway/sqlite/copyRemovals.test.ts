import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { makeLogEvent } from '../../test/followers.ts'
import { makeFolder } from '../../test/gateway.ts'
import type { LogEvent } from '../collect/eventLog.ts'
import { toCells } from './cells.ts'
import { eraseNoted } from './copyErasure.ts'
import type { OtherMessage } from './copying.ts'
import { openPersonStore, readProofs } from './personStore.ts'
import { openStore, type Store } from './store.ts'

/** Removals in a copy of a log. The position of a row is the sequence of its message. */
const root = makeFolder()
let folders = 0
let files: { eventsFile: string; reportsFile: string; forwardFile: string }
let store: Store
let last: number

beforeEach(() => {
  const folder = join(root, String(++folders))
  mkdirSync(folder)
  files = {
    eventsFile: join(folder, 'events.db'),
    reportsFile: join(folder, 'reports.db'),
    forwardFile: join(folder, 'forward.db'),
  }
  store = openStore(files.eventsFile)
  store.beginCopy('log')
  last = 0
})
afterEach(() => store.close())
afterAll(() => rmSync(root, { recursive: true }))

const makeEvent = (given: Partial<LogEvent> = {}) =>
  makeLogEvent({ customer: 'shop', id: randomUUID(), ...given })

/** The messages that come next, from a sequence. */
function apply(messages: readonly (LogEvent | Omit<OtherMessage, 'seq'>)[], from = last + 1): void {
  const events: LogEvent[] = []
  const seqs: number[] = []
  const others: OtherMessage[] = []
  messages.forEach((message, i) => {
    const seq = from + i
    if ('payload' in message) {
      events.push(message)
      seqs.push(seq)
    } else others.push({ ...message, seq } as OtherMessage)
  })
  const end = from + messages.length - 1
  store.apply({ after: last, last: end, cells: toCells(events), seqs, others })
  last = end
}

const erased = (...events: readonly (readonly [seq: number, event: LogEvent])[]) => ({
  customer: 'shop',
  erased: events.map(([seq, { id }]) => ({ seq, id })),
})

function finish(): void {
  const steps = eraseNoted(files)
  while (!steps.next().done);
}

const kept = () => store.read({ max: 100 }).map(({ seq }) => seq)
/** Positions of events of which only the id is known. */
function known(): unknown[] {
  const database = new Database(files.eventsFile, { readonly: true })
  try {
    return database.prepare("SELECT seq FROM events WHERE operation = ''").pluck().all()
  } finally {
    database.close()
  }
}

test('an erased event is removed from the bytes of the copy, and its id stays known', () => {
  const one = makeEvent({ payload: '{"search_term":"unmistakable"}' })
  const other = makeEvent()
  apply([one, other])
  expect(store.toRemove().hasErased).toBe(false)
  apply([erased([1, one])])
  expect(store.toRemove().hasErased).toBe(true)
  finish()
  expect(store.toRemove().hasErased).toBe(false)
  expect([kept(), known()]).toEqual([[2], [1]])
  for (const file of [files.eventsFile, `${files.eventsFile}-wal`])
    expect(readFileSync(file).includes('unmistakable')).toBe(false)
  expect(store.has('shop', [one.id])).toEqual([true])
})

test('a repetition is noted, and is due when its event was removed before or is removed later', () => {
  const [one, other] = [makeEvent(), makeEvent()]
  apply([one, other, one, other])
  expect(kept()).toEqual([1, 2])
  expect(store.repeatsOf('shop', [one.id])).toEqual([3])
  expect(store.dueRepeats(10)).toEqual([])
  apply([erased([1, one])])
  expect(store.dueRepeats(10)).toEqual([3])
  store.forgetRepeats([3])
  finish()
  apply([one])
  expect(store.dueRepeats(10)).toEqual([6])
  expect(kept()).toEqual([2])
})

test('a copy that never had an erased event knows its id', () => {
  const one = makeEvent()
  apply([erased([1, one]), one], 5)
  expect(store.dueRepeats(10)).toEqual([6])
  // It came in the same transaction, before the removal was applied.
  finish()
  expect(kept()).toEqual([])
  apply([one])
  expect(store.dueRepeats(10)).toEqual([6, 7])
  expect([kept(), known()]).toEqual([[], [6]])
})

test('of an event whose first message is gone, its repetition is erased', () => {
  const one = makeEvent()
  // The first message, 1, was deleted before this copy was made.
  apply([one], 4)
  apply([erased([1, one])])
  expect(store.dueRepeats(10)).toEqual([4])
  finish()
  expect([kept(), known()]).toEqual([[], [4]])
})

test('expired events are removed up to a position, once', () => {
  apply([makeEvent(), makeEvent({ customer: 'other' }), makeEvent(), makeEvent()])
  apply([{ customer: 'shop', expiredTo: 3 }])
  expect(store.toRemove().expired).toEqual([{ customer: 'shop', upTo: 3 }])
  expect(store.removeExpired('shop', 3)).toEqual({ removed: 2, isDone: true })
  expect(store.toRemove().expired).toEqual([])
  expect(kept()).toEqual([2, 4])
})

test('an erasure names events before it removes them, and one that is interrupted finds the rest again', () => {
  const says = makeEvent({
    did: 'd-ana',
    operation: 'setEmail',
    payload: '{"email_address":"ana@shop.example"}',
  })
  const others = Array.from({ length: 3 }, () => makeEvent({ did: 'd-ana' }))
  apply([says, ...others])
  const person = { email: 'ana@shop.example' }
  const open = () => openPersonStore(files, 'shop', person, () => 1)
  const search = (opened: ReturnType<typeof open>): boolean => {
    for (const steps = opened.search(); ; ) {
      const step = steps.next()
      if (step.done) return step.value
    }
  }

  const first = open()
  expect(search(first)).toBe(true)
  const steps = first.eraseCopied()
  let step = steps.next()
  while (typeof step.value === 'number') step = steps.next()
  expect(step.value).toEqual(others.map(({ id }, i) => ({ seq: i + 2, id })))
  expect(kept()).toEqual([1, 2, 3, 4])
  // The stream could not delete them.
  steps.return(undefined as never)
  first.close()
  expect(readProofs(files.eventsFile, 'shop')).toMatchObject([{ proof: 1, ended: null, events: 0 }])

  const second = open()
  expect(search(second)).toBe(true)
  const named: number[] = []
  for (const again = second.eraseCopied(); ; ) {
    const next = again.next()
    if (next.done) break
    if (typeof next.value === 'number') continue
    named.push(...next.value.map(({ seq }) => seq))
    // The copy may hear of it before the next step. Each event counts once.
    apply([{ customer: 'shop', erased: next.value }])
    finish()
  }
  second.close()
  // The event that connects the address with the device comes last.
  expect(named).toEqual([2, 3, 4, 1])
  expect(kept()).toEqual([])
  expect(readProofs(files.eventsFile, 'shop')[0]).toMatchObject({ proof: 2, ended: 1, events: 4 })
})

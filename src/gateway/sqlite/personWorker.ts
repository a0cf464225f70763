import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { type Kept, MAX_LISTED, type Proof } from '../people/people.ts'
import type { Person } from '../people/person.ts'
import { eraseNoted } from './copyErasure.ts'
import type { ErasedEvent } from './copyRemovals.ts'
import type { PersonFiles, Steps } from './derivedFiles.ts'
import { openPersonStore, type PersonStore, readProofs } from './personStore.ts'
import { serve } from './remote.ts'

/** The functions of the thread. */
export type Served = {
  find(customer: string, person: Person): Promise<Kept | undefined>
  /** Opens an export. Returns its number; undefined if nothing is kept. */
  open(customer: string, person: Person): Promise<number | undefined>
  /** The next piece of an export. Empty if none was found for a second; undefined at the end. */
  read(opened: number): Promise<Uint8Array | undefined>
  /** Closes an export. */
  release(opened: number): void
  erase(customer: string, person: Person): Promise<Proof | undefined>
  /** Opens an erasure in a copy of a log. Returns its number; undefined if nothing is kept. */
  openErasure(customer: string, person: Person): Promise<number | undefined>
  /** Carries the erasure on: events that must be removed from the log before the next call, and at its end the proof. */
  nextErased(opened: number): Promise<readonly ErasedEvent[] | Proof>
  /** Closes an erasure. If it has not ended, its proof says so. */
  endErasure(opened: number): void
  /** Removes what was erased from the log that this file is a copy of. */
  eraseNoted(): Promise<void>
  proofs(customer: string): Proof[]
  close(): void
}

type Erasure = {
  readonly store: PersonStore
  readonly steps: Generator<number | readonly ErasedEvent[], Proof>
}
type Export = { readonly store: PersonStore; readonly pieces: Generator<string, void> }

/** Characters of a piece. */
const PIECE_CHARACTERS = 65_536
/** How long a call of `read` searches, ms: shorter than its deadline. */
const READ_MS = 1_000

/** The thread that searches, exports and erases. It uses at most half a core, since appends are more urgent. */
const files = workerData as PersonFiles
const exports = new Map<number, Export>()
const erasures = new Map<number, Erasure>()
let lastOpened = 0
let isClosed = false

function open(customer: string, person: Person): PersonStore {
  // Opening a missing file would create an empty one.
  if (!existsSync(files.eventsFile)) throw new Error('events.db is missing')
  return openPersonStore(files, customer, person, Date.now)
}

/** Carries out one step, then pauses. */
async function paced<T>(steps: Iterator<T, unknown>, pauseOf = (_: T) => 0) {
  if (isClosed) throw new Error('The gateway is stopping')
  const begun = performance.now()
  const step = steps.next()
  if (!step.done) await sleep(Math.max(pauseOf(step.value), performance.now() - begun))
  return step
}

async function finish<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = await paced(steps, (pause) => pause)
    if (step.done) return step.value as Result
  }
}

async function using<Result>(
  customer: string,
  person: Person,
  use: (store: PersonStore) => Steps<Result>,
  otherwise?: (store: PersonStore) => Steps<void>,
): Promise<Result | undefined> {
  const store = open(customer, person)
  try {
    if (await finish(store.search())) return await finish(use(store))
    if (otherwise) await finish(otherwise(store))
    return undefined
  } finally {
    store.close()
  }
}

function release(opened: number): void {
  exports.get(opened)?.store.close()
  exports.delete(opened)
}

/**
 * Searches, and keeps the store open if anything is kept.
 *
 * @param otherwise Carried out if nothing is.
 */
async function openFound(
  customer: string,
  person: Person,
  otherwise?: (store: PersonStore) => Steps<void>,
): Promise<PersonStore | undefined> {
  const store = open(customer, person)
  try {
    if (await finish(store.search())) return store
    if (otherwise) await finish(otherwise(store))
  } catch (error) {
    store.close()
    throw error
  }
  store.close()
  return undefined
}

async function nextErased(opened: number): Promise<readonly ErasedEvent[] | Proof> {
  const steps = erasures.get(opened)?.steps
  // The thread was restarted meanwhile.
  if (!steps) throw new Error('The erasure is closed')
  for (;;) {
    const step = await paced(steps, (pause) => (typeof pause === 'number' ? pause : 0))
    if (step.done || typeof step.value !== 'number')
      return step.value as Proof | readonly ErasedEvent[]
  }
}

function endErasure(opened: number): void {
  const erasure = erasures.get(opened)
  erasures.delete(opened)
  // Closes what the steps have opened.
  erasure?.steps.return(undefined as never)
  erasure?.store.close()
}

serve<Served>({
  find: (customer, person) => using(customer, person, (store) => store.describe()),
  erase: (customer, person) =>
    using(
      customer,
      person,
      (store) => store.erase(),
      (store) => store.clearFiles(),
    ),
  async openErasure(customer, person) {
    const store = await openFound(customer, person, (opened) => opened.clearFiles())
    if (!store) return undefined
    lastOpened++
    erasures.set(lastOpened, { store, steps: store.eraseCopied() })
    return lastOpened
  },
  nextErased,
  endErasure,
  eraseNoted: () => finish(eraseNoted(files)),
  async open(customer, person) {
    const store = await openFound(customer, person)
    if (!store) return undefined
    lastOpened++
    exports.set(lastOpened, { store, pieces: store.json() })
    return lastOpened
  },
  async read(opened) {
    const pieces = exports.get(opened)?.pieces
    // The thread was restarted meanwhile.
    if (!pieces) throw new Error('The export is closed')
    const until = performance.now() + READ_MS
    let text = ''
    while (text.length < PIECE_CHARACTERS && performance.now() < until) {
      const piece = await paced(pieces)
      if (piece.done) return text ? Buffer.from(text) : undefined
      text += piece.value
    }
    return Buffer.from(text)
  },
  release,
  proofs: (customer) =>
    existsSync(files.eventsFile) ? readProofs(files.eventsFile, customer, MAX_LISTED) : [],
  close() {
    isClosed = true
    for (const opened of [...exports.keys()]) release(opened)
    for (const opened of [...erasures.keys()]) endErasure(opened)
  },
})

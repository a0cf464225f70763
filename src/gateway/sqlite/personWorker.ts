import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { type Kept, MAX_LISTED, type Proof } from '../people/people.ts'
import type { Person } from '../people/person.ts'
import {
  openPersonStore,
  type PersonFiles,
  type PersonStore,
  readProofs,
  type Steps,
} from './personStore.ts'
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
  proofs(customer: string): Proof[]
  close(): void
}

type Export = { readonly store: PersonStore; readonly pieces: Generator<string, void> }

/** Characters of a piece. */
const PIECE_CHARACTERS = 65_536
/** How long a call of `read` searches, ms: shorter than its deadline. */
const READ_MS = 1_000

/** The thread that searches, exports and erases. It uses at most half a core, since appends are more urgent. */
const files = workerData as PersonFiles
const exports = new Map<number, Export>()
let lastExport = 0
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

serve<Served>({
  find: (customer, person) => using(customer, person, (store) => store.describe()),
  erase: (customer, person) =>
    using(
      customer,
      person,
      (store) => store.erase(),
      (store) => store.clearFiles(),
    ),
  async open(customer, person) {
    const store = open(customer, person)
    try {
      if (!(await finish(store.search()))) {
        store.close()
        return undefined
      }
    } catch (error) {
      store.close()
      throw error
    }
    lastExport++
    exports.set(lastExport, { store, pieces: store.json() })
    return lastExport
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
  },
})

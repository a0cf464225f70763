import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findMismatch } from './dataCommand.ts'
import { type Done, done, type Fault, failed, misused } from './lib/command.ts'
import { type Kept, MAX_LISTED, type Proof } from './people/people.ts'
import { type Person, readPerson } from './people/person.ts'
import type { Settings } from './settings.ts'
import { findOldData } from './sqlite/backup/finishRestore.ts'
import { createSqliteCustomers } from './sqlite/customers.ts'
import { prepareDataFolder } from './sqlite/dataFolder.ts'
import type { Steps } from './sqlite/derivedFiles.ts'
import { openPersonStore, type PersonStore, readProofs } from './sqlite/personStore.ts'

/** Options of `shoptrail person …`, as they were typed. */
export type PersonOptions = {
  readonly customer?: string | undefined
  readonly email?: string | undefined
  readonly did?: string | undefined
  readonly yes?: boolean | undefined
}

/** The verbs of `person`, each with its options. */
export const PERSON_VERBS: ReadonlyMap<string, readonly string[]> = new Map([
  ['export', ['customer', 'email', 'did']],
  ['erase', ['customer', 'email', 'did', 'yes']],
  ['proofs', ['customer']],
])

/** A text for stdout that is made while it is written. An error of the iteration means that it is incomplete. */
export type Streamed = { readonly ok: true; readonly pieces: Iterable<string> }

/**
 * `person export | erase | proofs`. The gateway may be running.
 *
 * @param verb One of PERSON_VERBS.
 * @throws Error if the data can not be opened.
 */
export function runPerson(
  verb: string,
  options: PersonOptions,
  settings: Settings,
): Done | Streamed {
  const read = readRequest(verb, options)
  if (!read.ok) return read
  const { customer, person } = read
  const folder = resolve(settings.dataDir)
  prepareDataFolder(folder)
  const mismatch = findMismatch(folder)
  if (mismatch) return failed(mismatch)
  const unknown = findUnknown(folder, customer)
  if (unknown) return unknown
  const eventsFile = join(folder, 'events.db')
  // Before the first start there is no log, and none is created.
  const isThere = existsSync(eventsFile)
  if (!person) return done(...listProofs(isThere ? readProofs(eventsFile, customer) : []))
  if (!isThere) return nothing(customer)
  const files = {
    eventsFile,
    reportsFile: join(folder, 'reports.db'),
    forwardFile: join(folder, 'forward.db'),
  }
  const store = openPersonStore(files, customer, person, Date.now)
  let isOpenLonger = false
  try {
    if (!finish(store.search())) {
      if (verb === 'erase') finish(store.clearFiles())
      return nothing(customer)
    }
    if (verb === 'erase')
      return options.yes
        ? done(...describeProof(finish(store.erase())), ...describeOld(findOldData(folder)))
        : misused(...describeKept(finish(store.describe())))
    isOpenLonger = true
    return { ok: true, pieces: thenClose(store) }
  } finally {
    if (!isOpenLonger) store.close()
  }
}

/** Whom a command is about. Of `proofs` only the customer. */
export function readRequest(
  verb: string,
  options: PersonOptions,
): { readonly ok: true; readonly customer: string; readonly person: Person | undefined } | Fault {
  const { customer } = options
  if (!customer) return misused('Expected the id of a customer: --customer ID')
  if (verb === 'proofs') return { ok: true, customer, person: undefined }
  const read = readPerson(options)
  if (!read.ok) return misused(`${read.message}: --email ADDRESS or --did ID`)
  return { ok: true, customer, person: read.person }
}

function* thenClose(store: PersonStore): Generator<string, void> {
  try {
    yield* store.json()
  } finally {
    store.close()
  }
}

/** Carries out all steps, in this process, which has nothing else to do. */
function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (step.value > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, step.value)
  }
}

/** The customer's id must be right, or an empty answer would be wrong. Events of a removed customer are kept. */
function findUnknown(folder: string, customer: string): Fault | undefined {
  const file = join(folder, 'customers.db')
  const unknown = failed(`There is no customer ${customer} in ${folder}`)
  if (!existsSync(file)) return unknown
  const customers = createSqliteCustomers(file)
  try {
    return customers.find(customer) || customers.isRetired(customer) ? undefined : unknown
  } finally {
    customers.close()
  }
}

/** None of the texts below contains the person, since a command's output may be kept in a log. */
export const nothing = (customer: string): Fault =>
  failed(
    `Nothing is kept of this person for the customer ${customer}.`,
    'E-mail addresses are compared without regard to case, device ids exactly.',
  )

export const describeKept = ({ events, devices, operations, first, last, shared, dids }: Kept) => [
  `This removes ${counted(events, 'event')} of ${counted(devices, 'device')}, from ${dayOf(first)} to ${dayOf(last)}:`,
  ...Object.entries(operations).map(([operation, count]) => `  ${operation}  ${number(count)}`),
  ...dids.map((did) => `  device ${did}`),
  ...(devices > MAX_LISTED ? [`  and ${counted(devices - MAX_LISTED, 'more device')}`] : []),
  ...(shared > 0
    ? [
        `${counted(shared, 'device')} gave another address too, so these events may be those of two people.`,
      ]
    : []),
  'It can not be undone. To confirm, add --yes.',
]

export const describeProof = ({ proof, events, devices, counted: inReports, customer }: Proof) => [
  `Removed ${counted(events, 'event')} of ${counted(devices, 'device')}. The reports had ${number(inReports)} of them.`,
  `This is kept as proof ${proof} of the customer ${customer}, without the person: npx shoptrail person proofs --customer ${customer}`,
]

/** Old databases have what was erased. They are whole files, which nothing is removed from. */
const describeOld = (folders: readonly string[]): string[] =>
  folders.length === 0
    ? []
    : [
        `The databases in ${folders.join(', ')} are of before, and still have it. Remove these folders as soon as you can.`,
      ]

export const listProofs = (proofs: readonly Proof[]): string[] =>
  proofs.length === 0
    ? ['Nothing was erased yet.']
    : proofs.map(({ proof, begun, ended, ...removed }) => {
        const counts = `${counted(removed.events, 'event')} of ${counted(removed.devices, 'device')}, ${number(removed.counted)} of them in reports`
        return `${proof}  ${new Date(begun).toISOString()}  ${counts}${ended === null ? '  INTERRUPTED: erase this person again' : ''}`
      })

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const number = (value: number): string => value.toLocaleString('en')
const counted = (count: number, one: string): string =>
  `${number(count)} ${one}${count === 1 ? '' : 's'}`

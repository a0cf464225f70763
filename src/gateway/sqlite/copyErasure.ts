import { closeDatabase, openDatabase } from './database.ts'
import {
  clearDerived,
  clearWals,
  closeDerived,
  openDerived,
  type PersonFiles,
  type Steps,
} from './derivedFiles.ts'
import { createRemoval, MAX_REMOVED } from './removal.ts'
import type { ReadEvent } from './reportForgetting.ts'
import { EVENTS_SCHEMA } from './store.ts'

/** A pause after a transaction, as a multiple of its duration. */
const PAUSE_FACTOR = 3

/**
 * Removes the events from a copy that were erased from its log (`to_erase`, see copyRemovals.ts), and what reports have
 * of them, also from the bytes of the files. Those that are not removed when the process ends are removed later. Dead
 * letters are removed by the process that forwards.
 */
export function* eraseNoted(files: PersonFiles): Steps<void> {
  const database = openDatabase(files.eventsFile, EVENTS_SCHEMA)
  const derived = openDerived(files)
  try {
    const { reports } = derived
    const removal = createRemoval(database)
    const nextCustomer = database
      .prepare<[], string>('SELECT customer FROM to_erase LIMIT 1')
      .pluck()
    const eventsOf = database.prepare<[string, number], ReadEvent>(
      `SELECT seq, did, at, id FROM to_erase JOIN events USING (seq) WHERE to_erase.customer = ? LIMIT ?`,
    )
    const forget = database.prepare<[number]>('DELETE FROM to_erase WHERE seq = ?')
    const forgetGone = database.prepare(
      'DELETE FROM to_erase WHERE seq NOT IN (SELECT seq FROM events)',
    )
    const remove = database.transaction((seqs: readonly number[]): void => {
      removal.removeEvents(seqs)
      for (const seq of seqs) forget.run(seq)
    })
    for (;;) {
      const customer = nextCustomer.get()
      if (customer === undefined) break
      const begun = performance.now()
      const events = eventsOf.all(customer, MAX_REMOVED)
      const seqs = events.map(({ seq }) => seq)
      const dids = new Set(events.flatMap(({ did }) => did ?? []))
      if (seqs.length === 0) forgetGone.run()
      reports?.forgetEvents(customer, events)
      remove.immediate(seqs)
      // The reports may have read them in between.
      reports?.forgetEvents(customer, events)
      reports?.forgetDevices(customer, [...dids])
      yield PAUSE_FACTOR * (performance.now() - begun)
    }
    yield* clearWals(removal.clearWal)
    yield* clearDerived(derived)
  } finally {
    closeDerived(derived)
    closeDatabase(database)
  }
}

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openMirror } from '../nats/mirror.ts'
import { DERIVED_BUCKET, streamOf } from '../nats/names.ts'
import { type DerivedFile, openDerivedTables } from '../sqlite/derivedTables.ts'
import { connect } from '../sqlite/driver.ts'
import { uuidOf } from '../sqlite/uuid.ts'
import { untilSaved } from './moveCustomers.ts'
import type { MoveState } from './moveState.ts'
import { putRows } from './putRows.ts'
import type { MoveSource, Row } from './source.ts'
import type { MoveTarget } from './target.ts'

/**
 * Stores in the cluster what gateways have made and can not make again from the log: destinations with their positions
 * and dead letters, closed figures, proofs. A position is translated to that of the same event in its stream.
 *
 * @param folder A folder for local copies of what the cluster has.
 */
export async function moveDerived(
  source: MoveSource,
  target: MoveTarget,
  state: MoveState,
  folder: string,
): Promise<void> {
  const { partitions, partitionOf } = target.broker
  const destinations = [...source.derivedRows('forward', 'destinations')]
  const customerOf = new Map(destinations.map((row) => [row.id as string, row.customer as string]))

  let block: { readonly name: string; readonly sequences: ReadonlyMap<string, number> } | undefined

  /** Sequences of the events of a customer that were moved together with a position. */
  async function readBlock(customer: string, seq: number) {
    const partition = partitionOf(customer)
    const [before, last] = [state.before(seq), state.from(seq)]
    const name = `${last?.source} ${customer}`
    if (block?.name !== name) {
      const [after, upTo] = [before, last].map((one) => one?.sequences[partition] ?? 0)
      const sequences = await target.sequencesOf(customer, after as number, upTo as number)
      block = { name, sequences }
    }
    return block.sequences
  }

  /** The last event of a customer up to a position, and its sequence. */
  async function translate(customer: string, seq: number) {
    const event = source.lastUpTo(customer, seq)
    if (!event) return { source: 0, sequence: 0, id: null }
    const sequence = (await readBlock(customer, event.seq)).get(event.id)
    if (sequence === undefined)
      throw new Error(
        `The event ${event.id} of ${customer} is not where it was stored in ${streamOf(partitionOf(customer))}. The replicas of the stream may differ. Make them again from the leader (docs/scale.md, "When a copy differs"), then repeat the command`,
      )
    return { source: event.seq, sequence, id: event.id }
  }

  async function toProgress(row: Row): Promise<Row[]> {
    const customer = customerOf.get(row.destination as string)
    if (customer === undefined) return []
    const { sequence, id } = await translate(customer, row.seq as number)
    return [
      {
        ...row,
        seq: sequence,
        event: id,
        received_at: id === null ? null : (row.received_at as number | null),
      },
    ]
  }

  async function toLetter(row: Row): Promise<Row[]> {
    const customer = customerOf.get(row.destination as string)
    if (customer === undefined) return []
    const { source: found, sequence, id } = await translate(customer, row.seq as number)
    // The event was removed, and its letter will be.
    if (found !== row.seq || id !== uuidOf(row.id as Buffer)) return []
    return [{ ...row, seq: sequence }]
  }

  const partitionOfRow = (row: Row): number =>
    partitionOf((row.customer ?? customerOf.get(row.destination as string)) as string)
  const here = (partition: number) => (row: Row) => partitionOfRow(row) === partition

  async function store(
    partition: number,
    file: DerivedFile,
    tables: Readonly<Record<string, readonly Row[]>>,
  ): Promise<void> {
    // The bucket is not needed for nothing.
    if (Object.values(tables).every((rows) => rows.length === 0)) return
    const path = join(folder, `${partition}-${file}.db`)
    const rows = openDerivedTables(file, path)
    const mirror = openMirror({
      ...{ rows, broker: target.broker, bucket: DERIVED_BUCKET, prefix: `${partition}.${file}.` },
      onError() {},
    })
    try {
      await mirror.ready
      const database = connect(path, { timeout: 5_000 })
      try {
        for (const [table, all] of Object.entries(tables)) putRows(database, table, all)
      } finally {
        database.close()
      }
      await untilSaved(mirror.flush)
    } finally {
      await mirror.close()
      rows.close()
    }
  }

  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const progress = await flatMap(source.derivedRows('forward', 'progress'), toProgress)
  // By destination and position, so that a block is read once.
  const letters = await flatMap(source.derivedRows('forward', 'letters'), toLetter)
  const patches = [...source.derivedRows('forward', 'patches')]
  const events = (table: string) => [...source.derivedRows('events', table)]
  for (let partition = 0; partition < partitions; partition++) {
    const isHere = here(partition)
    const ownLetters = letters.filter(isHere)
    const used = new Set(ownLetters.map(({ patch }) => patch))
    await store(partition, 'forward', {
      destinations: destinations.filter(isHere),
      progress: progress.filter(isHere),
      patches: patches.filter(({ patch }) => used.has(patch as number)),
      letters: ownLetters,
    })
    await store(partition, 'events', {
      closed_reports: events('closed_reports').filter(isHere),
      closed_figures: events('closed_figures').filter(isHere),
      erasures: events('erasures').filter(isHere),
    })
  }
}

async function flatMap(rows: Iterable<Row>, run: (row: Row) => Promise<Row[]>): Promise<Row[]> {
  const results: Row[] = []
  for (const row of rows) results.push(...(await run(row)))
  return results
}
